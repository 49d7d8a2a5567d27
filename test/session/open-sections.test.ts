import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { markdown } from "../../src/session/prompt-section.ts";
import { promptTemplate } from "../../src/session/prompt-template.ts";
import { Session } from "../../src/session/session.ts";
import { Snapshot } from "../../src/session/snapshot.ts";

const prompt = promptTemplate({
  namespace: "tasks",
  key: "execute",
  version: 1,
  sections: [
    markdown({
      key: "rules",
      title: "Rules",
      template: "All the rules.",
      visibility: "summary",
      summary: "Be kind.",
    }),
    markdown({
      key: "style",
      title: "Style",
      template: "All the style.",
      visibility: "summary",
      summary: "Be brief.",
    }),
    markdown({ key: "task", title: "Task", template: "Do it.", summary: "Not shown." }),
  ],
});
const newSession = () => new Session({ id: "s", createdAt: 0, slices: prompt.slices });

function open(keys: readonly string[], session: Session): string {
  const [tool] = prompt.tools;
  if (tool === undefined) throw new Error("The prompt has no tool.");
  return tool.run(tool.inputSchema.parse({ keys }) as never, session);
}

describe("a section shown as a summary", () => {
  it("shows its summary, and how to see the rest", () => {
    expect(prompt.render(newSession(), {})).toBe(
      [
        '## Rules\n\nBe kind.\n\n(This is a summary: call open_sections with "rules" to see the rest.)',
        '## Style\n\nBe brief.\n\n(This is a summary: call open_sections with "style" to see the rest.)',
        "## Task\n\nDo it.",
      ].join("\n\n"),
    );
  });

  it("brings the tool that opens it, once, and the slice that records it", () => {
    expect(prompt.tools.map(({ name }) => name)).toEqual(["open_sections"]);
    expect(prompt.slices.map(({ name }) => name)).toEqual(["open_sections"]);
  });

  it("shows its full text once opened, while the others stay summaries", () => {
    const session = newSession();
    expect(open(["rules"], session)).toBe(
      "Opened rules: the instructions show all of it from the next turn on.",
    );
    const text = prompt.render(session, {});
    expect(text).toContain("## Rules\n\nAll the rules.");
    expect(text).not.toContain("Be kind.");
    expect(text).toContain("Be brief.");
    open(["style"], session);
    expect(prompt.render(session, {})).not.toContain("open_sections");
  });

  it("stays open in a restored session", () => {
    const session = newSession();
    open(["rules", "rules"], session);
    const restored = newSession();
    restored.rollback(Snapshot.fromJSON(JSON.stringify(session.snapshot())));
    expect(prompt.render(restored, {})).toBe(prompt.render(session, {}));
  });

  it("does not change the session when it is opened a second time", () => {
    const session = newSession();
    open(["rules"], session);
    const before = session.state;
    open(["rules"], session);
    expect(session.state).toBe(before);
    session.dispatch({ type: "SectionsOpened" });
    expect(session.state).toBe(before);
  });

  it("cannot be opened by a wrong key, and the answer lists the right ones", () => {
    const session = newSession();
    expect(() => open(["rule"], session)).toThrow(
      new Error('There is no section "rule" to open: use rules, style.'),
    );
    expect(() => open(["rules", "task"], session)).toThrow(/no section "task"/);
    expect(() => open([], session)).toThrow(new Error("Give at least one key: rules, style."));
    expect(session.state.size).toBe(0);
  });

  it("needs a session that has the slices of the prompt", () => {
    const bare = new Session({ id: "s", createdAt: 0, slices: [] });
    expect(() => prompt.render(bare, {})).toThrow(ConfigurationError);
    expect(() => prompt.render(bare, {})).toThrow(/no slice open_sections: register it/);
  });
});
