// Models, tools, people and the outside world can write anything. It is shown, and has no other effect.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countInvisible, visibleLine, visibleParts, visibleText } from "../../src/core/visible-text.ts";
import { code, fence, inline, jsonFence, sentence, shortFence, table } from "../../src/export/markdown.ts";
import { renderLog } from "../../src/export/run-log.ts";
import { renderTranscript } from "../../src/export/transcript/transcript.ts";
import { FINGERPRINT, SampleRun } from "../../src/testing/store/sample-run.ts";
import { outsideFences } from "./markdown-blocks.ts";
import { tickingStore } from "./sample-store.ts";

const HOSTILE = [
  "# HOSTILE heading",
  "```",
  "## HOSTILE after a fence",
  "``````",
  "~~~",
  "<script>HOSTILE()</script><!--",
  "| HOSTILE | cell |",
  "[HOSTILE](javascript:alert(1)) ![HOSTILE](http://evil.test/x.png)",
  "\u001b[31mHOSTILE\u001b[0m \u0000 \u0007 \u009b",
  "\u202eELITSOH\u2066 \u200b\ufeff \u{e0041}",
  "one\r# HOSTILE after a carriage return\r```\r\n",
  "two\u2028# HOSTILE after a line separator",
  "**HOSTILE** _HOSTILE_ ~~HOSTILE~~ `HOSTILE` $HOSTILE$ &lt;",
].join("\n");

/** Characters that must not reach a reader unescaped. */
const INVISIBLE =
  /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

const MARKS =
  "` ~ # | < > & \\ * _ [ ] ( ) ! $ a 0 \u0000 \u001b \u202e \u2028 \ud800 \u{e0041} \n \r \t".split(" ");

const hostileText = fc.oneof(fc.string({ unit: fc.constantFrom(...MARKS) }), fc.string({ unit: "binary" }));

/** Removes escaped characters and code, and leaves only what Markdown or HTML would interpret. */
function interpreted(line: string): string {
  return line.replaceAll(/\\./g, "").replaceAll(/(`+)(?!`).*?[^`]\1(?!`)/g, "");
}

describe("a run full of hostile texts", () => {
  async function hostileRun() {
    const { store } = await tickingStore();
    const run = await SampleRun.create(store, "run-1", { input: { text: HOSTILE }, pipeline: HOSTILE });
    await run.open(1, {
      fingerprint: {
        hash: FINGERPRINT,
        document: {
          prompt: HOSTILE,
          input: HOSTILE,
          model: HOSTILE,
          provider: HOSTILE,
          tools: { [HOSTILE]: "x" },
        },
      },
    });
    const part = { type: "tool-call", toolCallId: HOSTILE, toolName: HOSTILE, input: { [HOSTILE]: HOSTILE } };
    const response = {
      content: [
        { type: "text", text: HOSTILE },
        { type: HOSTILE, data: HOSTILE },
        part,
        { ...part, toolCallId: "2" },
      ],
      finishReason: "stop",
      responseId: null,
    };
    const calls = [1, 2].map((n) => run.call(1, n, { tool: HOSTILE, namespace: HOSTILE }));
    await store.journalResponse(run.fence, run.journal(1, [], { response, calls }));
    await run.endAttempt(1, 1, { errorDetail: HOSTILE, errorCode: HOSTILE });
    await run.receipt(1, 2, {
      output: { type: "text", value: HOSTILE },
      correlationId: HOSTILE,
      errorCode: HOSTILE,
    });
    await run.waiting(run.wait(1, 1, { question: HOSTILE, subject: { [HOSTILE]: HOSTILE } }));
    await store.settle("run-1/draft#1.1", { as: "failed", why: HOSTILE }, { by: HOSTILE });
    const next = await run.takenOver(store, { attempt: { resumedFrom: "turn", reason: HOSTILE } });
    await store.beginStep(next.fence, {
      path: "draft",
      name: "draft",
      kind: "granular",
      phase: "",
      input: null,
    });
    await store.commitTurn(next.fence, next.commit(1, { followUp: HOSTILE }));
    await store.finishStep(next.fence, { stepKey: run.stepKey, output: HOSTILE, context: null });
    await store.releaseRun(next.fence, {
      status: "failed",
      error: { code: HOSTILE, message: HOSTILE, details: {} },
    });
    return store;
  }

  it("has a transcript with the headings, rows and links that Pawl wrote and no others", async () => {
    const transcript = await renderTranscript(await hostileRun(), "run-1");
    expect(transcript.match(/HOSTILE/g)?.length).toBeGreaterThan(100);
    expect(transcript).not.toMatch(INVISIBLE);
    const outside = outsideFences(transcript);
    expect(outside.filter((line) => line.startsWith("#"))).toEqual([
      "# Run `run-1`",
      "## Attempt 1",
      "### Step `draft`",
      "#### Turn 1 of `draft`",
      "## Attempt 2: resumed from the last commit",
      "### Step `draft`, entered again",
      "#### Turn 1 of `draft`, continued",
      "## Current state",
    ]);
    const rows = outside.filter((line) => line.startsWith("|"));
    expect(rows.map((row) => row.replaceAll("\\|", "").split("|").length)).toEqual(rows.map(() => 4));
    // Hostile text appears outside of fences too, and is never interpreted.
    expect(outside.join("\n")).toContain("HOSTILE");
    const left = outside.map((line) => interpreted(line).replace(/^> /, ""));
    expect(left.filter((line) => /[<[\]~&`]|\$(?!\d)|_\S*HOSTILE|\*HOSTILE/.test(line))).toEqual([]);
  });

  it("has a log with one line per event, and no invisible characters in it", async () => {
    const store = await hostileRun();
    const log = await renderLog(store, "run-1");
    const lines = log.split("\n").slice(0, -1);
    expect(lines).toHaveLength((await store.listEvents("run-1")).length);
    expect(
      lines.filter((line) => !/^2026-11-16T06:00:0\d\.\d{3}Z {2}[a-z]+\.[a-z_]+ +seq=\d+/.test(line)),
    ).toEqual([]);
    expect(log).toContain("HOSTILE");
    expect(log).not.toMatch(INVISIBLE);
  });
});

describe("for every text,", () => {
  it("its fence ends where Pawl ends it", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(outsideFences(`before\n\n${fence(text)}\n\nafter`)).toEqual(["before", "", "", "after"]);
        expect(outsideFences(`before\n\n${jsonFence({ text }, "it is there")}\n\nafter`)).toEqual([
          "before",
          "",
          "",
          "after",
        ]);
      }),
    );
  });

  it("it stays on its line and in its cell", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        for (const shown of [inline(text), code(text), sentence(text)]) expect(shown).not.toMatch(/[\n\r]/);
        const [, , row] = table([[code(text), inline(text)]]).split("\n");
        expect(row?.replaceAll("\\|", "").split("|")).toHaveLength(4);
        expect(interpreted(inline(text))).not.toMatch(/[<>[\]`*_~$&]/);
      }),
    );
  });

  it("every character of it is visible", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(visibleText(text)).not.toMatch(INVISIBLE);
        expect(visibleText(text).isWellFormed()).toBe(true);
        expect(visibleLine(text)).not.toContain("\n");
      }),
    );
  });
});

describe("visibleParts", () => {
  it("tells an escape from a text that only looks like one", () => {
    const text = "a\u202eb\\u202e 👩‍👧";
    expect(visibleParts(text)).toEqual([
      { text: "a", isEscape: false },
      { text: "\\u202e", isEscape: true },
      { text: "b\\u202e 👩‍👧", isEscape: false },
    ]);
    expect(countInvisible(text)).toBe(1);
  });

  it.each(["", "a\r\nb", "\ud800\u0000", "می‌خواهم\u{e0001}"])("is the visible text in pieces: %j", (text) => {
    expect(
      visibleParts(text)
        .map((part) => part.text)
        .join(""),
    ).toBe(visibleText(text));
  });
});

describe("visibleText", () => {
  it.each(["Grüße, 世界", "👩‍👩‍👧 🏳️‍🌈", "می‌خواهم", "a\tb\nc"])("leaves visible text as it is: %s", (text) => {
    expect(visibleText(text)).toBe(text);
  });

  it("escapes invisible characters", () => {
    expect(visibleText("a\u202eb\u0007c\rd\r\ne\u{e0041}")).toBe("a\\u202eb\\u0007c\\u000dd\ne\\u{e0041}");
  });
});

describe("a long text", () => {
  it("is cut between characters, with a note that says where the rest is", () => {
    const shown = shortFence(`${"x".repeat(3_999)}😀 and more`, "the rest is elsewhere");
    expect(shown).toBe(`\`\`\`text\n${"x".repeat(3_999)}…\n\`\`\`\n\nShortened: the rest is elsewhere.`);
    expect(shortFence("x".repeat(4_000), "…")).toBe(fence("x".repeat(4_000)));
  });

  it("is cut in inline text too", () => {
    expect(inline("y".repeat(1_000))).toBe(`${"y".repeat(300)}…`);
  });
});
