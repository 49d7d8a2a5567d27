import { describe, expect, it } from "vitest";
import { PastedKeys, withLineEnds } from "../../../src/cli/chat/pasted-keys.ts";

/** What reaches the editor of these chunks. */
function keysOf(...chunks: readonly string[]): string {
  const pasted = new PastedKeys();
  return chunks.map((chunk) => pasted.read(chunk)).join("");
}

describe("what a terminal sends", () => {
  it("is left alone where single keys are pressed", () => {
    expect(keysOf("h", "i", "\u001b[D", "\u0003", "\r")).toBe("hi\u001b[D\u0003\r");
  });

  it("does not send a pasted text at its line ends, and keeps them", () => {
    const keys = keysOf("\u001b[200~one\r\ntwo\rthree\n\u001b[201~", "\r");
    expect(keys).toBe("one⏎two⏎three⏎\r");
    expect(withLineEnds("one⏎two")).toBe("one\ntwo");
  });

  it("takes no key out of a pasted text", () => {
    expect(keysOf("\u001b[200~a\u0003b\u001b[Ac\u001b[201~")).toBe("ab[Ac");
  });

  it.each([1, 2, 3, 4])("knows the marks of a paste when %i of their characters come later", (later) => {
    const [begin, end] = ["\u001b[200~", "\u001b[201~"];
    const at = begin.length - later;
    const chunks = [begin.slice(0, at), `${begin.slice(at)}a\rb${end.slice(0, at)}`, end.slice(at), "\r"];
    expect(keysOf(...chunks)).toBe("a⏎b\r");
  });

  it("knows the marks of a paste wherever they are cut, and every key works after it", () => {
    const sent = "\u001b[200~a\rb\u001b[201~";
    for (let at = 1; at < sent.length; at += 1) {
      // The editor ignores the mark itself, if its Escape was not held.
      const keys = keysOf(sent.slice(0, at), sent.slice(at), "\u0003").replace("\u001b[200~", "");
      expect([at, keys]).toEqual([at, "a⏎b\u0003"]);
    }
  });

  it("does not hold a pressed Escape, nor takes it with a later Enter for Alt-Enter", () => {
    const pasted = new PastedKeys();
    expect(["\u001b", "\r", "\u001b", "["].map((key) => pasted.read(key))).toEqual([
      "\u001b",
      "\r",
      "\u001b",
      "[",
    ]);
  });

  it("takes several lines that come at once as pasted, also without marks", () => {
    expect(keysOf("one\rtwo\r")).toBe("one⏎two\r");
  });

  it("begins a new line with Alt-Enter and Ctrl-J", () => {
    expect(keysOf("a", "\u001b\r", "b", "\n", "c", "\r")).toBe("a⏎b⏎c\r");
  });

  it("sends what was typed before the prompt was there", () => {
    expect(keysOf("hello\n")).toBe("hello\r");
  });
});
