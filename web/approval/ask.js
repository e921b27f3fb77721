// One request that waits, with everything that the device signed.

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** `where`: the device's name, if there are many. `answer("approve" | "deny")` is called once a button was pressed. */
export function askView(ask, kind, where, answer) {
  const mayApprove = ask.kinds.includes(kind);
  const note = element("p", { className: "quiet" });
  const button = (text, className, decision) =>
    element("button", {
      type: "button", textContent: text, className,
      onclick: async () => {
        for (const other of view.querySelectorAll("button")) other.disabled = true;
        note.textContent = "Signing …";
        try {
          await answer(decision);
        } catch (error) {
          note.textContent = error.message;
          for (const other of view.querySelectorAll("button")) other.disabled = false;
        }
      },
    });
  const until = new Date(ask.expires_ms).toLocaleTimeString();
  const view = element("article", { ariaLabel: `Request ${ask.ask}` },
    element("h2", { textContent: ask.tool }),
    element("p", { textContent: ask.summary }),
    element("pre", { textContent: ask.lines.join("\n"), tabIndex: 0 }),
    element("p", { className: "quiet", textContent: `Request ${ask.ask}${where && ` at ${where}`}, by ${ask.principal}, until ${until}` }),
    element("p", { className: "quiet", textContent: "Approved, it is good for exactly this call, once." }),
  );
  if (mayApprove) view.append(button("Approve", "yes", "approve"));
  else view.append(element("p", { textContent: `A ${kind} key may not approve this tool. Use ${ask.kinds.join(" or ")}.` }));
  view.append(button("Deny", "no", "deny"), note);
  view.dataset.ask = ask.ask;
  return view;
}
