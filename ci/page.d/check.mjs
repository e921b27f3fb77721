// Checks of a story: each prints "ok" or "FAILED", and the exit code says whether all passed.
let failed = 0;

export async function check(what, doing) {
  try {
    const more = await doing();
    console.log(`ok      ${what}${more ? `: ${more}` : ""}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${what}: ${error.stack}`);
  }
}

export function hasFailed() {
  return failed > 0;
}
