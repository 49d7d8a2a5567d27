import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { LineEditor } from "../../../src/cli/chat/line-editor.ts";

function sitDown() {
  const keys = new PassThrough();
  const entered: string[] = [];
  const nothing = () => undefined;
  const editor = new LineEditor(keys, {
    changed: nothing,
    entered: (text) => void entered.push(text),
    interrupted: nothing,
    closed: nothing,
  });
  onTestFinished(() => editor.end());
  editor.start();
  const types = async (...chunks: readonly string[]) => {
    for (const chunk of chunks) {
      keys.write(chunk);
      await sleep(2);
    }
  };
  return { editor, types, entered };
}

it("takes the whole of a pasted text whose first mark is cut after its Escape", async () => {
  const { types, entered } = sitDown();
  await types("\u001b", "[200~one\rtwo\u001b[201~", "\r");
  expect(entered).toEqual(["one\ntwo"]);
});

it("knows its keys again where others got the end of a pasted text", async () => {
  const { editor, types, entered } = sitDown();
  await types("\u001b[200~one ");
  editor.pause();
  editor.start();
  await types("two", "\r");
  expect(entered).toEqual(["one two"]);
});
