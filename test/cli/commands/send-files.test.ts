// `pawl send --file`, and where its files are shown.

import { Buffer } from "node:buffer";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { blobReferenceOf } from "../../../src/core/blob-reference.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";

const CONFIG = `
import { agent, conversation } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";
import { scriptedModel } from "<pawl>src/testing/scripted-model.ts";

const clerk = agent({ name: "clerk", model: scriptedModel(() => ({ text: "Seen." })), instructions: "Look." });
export default defineConfig({ pipelines: { clerk: conversation(clerk) } });
`;

const CAT = "THE BYTES OF A CAT";
const { blobId } = blobReferenceOf(Buffer.from(CAT));

async function chatFolder() {
  const folder = new CliFolder(CONFIG);
  folder.write("cat.PNG", CAT);
  folder.write("notes.txt", "Some notes.");
  const here = (...argv: readonly string[]) => pawl(argv, { cwd: folder.path, columns: 200 });
  expect(await here("enqueue", "clerk", "--input", "Hi.", "--run-id", "chat")).toMatchObject({ exitCode: 0 });
  return { folder, here, send: (...more: readonly string[]) => here("send", "chat", ...more) };
}

describe("send --file", () => {
  it("sends files with a text, and show, tail and --json name them without their bytes", async () => {
    const { folder, here, send } = await chatFolder();
    expect(await send("Look.", "--file", "cat.PNG", "--file", "notes.txt", "--id", "m-1")).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("is in the mailbox of run chat") as string,
    });
    const again = await pawlJson(["send", "chat", "--file", join(folder.path, "cat.PNG")], {
      cwd: folder.path,
    });
    const cat = { type: "file", mediaType: "image/png", filename: "cat.PNG", size: CAT.length, blobId };
    expect(again.document).toMatchObject({ status: "waiting", files: [cat] });
    const shown = await here("show", "chat");
    expect(shown.stdout).toMatch(/Files\n.*message +name +type +size +sha-256/);
    expect(shown.stdout).toMatch(new RegExp(`1 +cat\\.PNG +image/png +18 B +${blobId}`));
    expect(shown.stdout).toMatch(/1 +notes\.txt +text\/plain +11 B/);
    const { document } = await pawlJson<{ messages: unknown }>(["show", "chat"], { cwd: folder.path });
    expect(document.messages).toMatchObject([
      { id: "m-1", body: { parts: [{ text: "Look." }, cat, { filename: "notes.txt" }] } },
      { body: { parts: [cat] } },
    ]);
    const tail = await here("tail", "chat");
    expect(tail.stdout).toContain(`cat.PNG (image/png, 18 bytes, SHA-256 ${blobId})`);
    for (const text of [shown.stdout, JSON.stringify(document), tail.stdout]) {
      expect(text).not.toContain(CAT);
      expect(text).not.toContain(Buffer.from(CAT).toString("base64"));
    }
  });

  it("says what is wrong with a file, and sends nothing", async () => {
    const { folder, here, send } = await chatFolder();
    folder.write("empty.png");
    folder.write("large.pdf", "x".repeat(20_000_001));
    folder.write("tool.exe", "MZ");
    mkdirSync(join(folder.path, "folder.png"));
    for (const [argv, message] of [
      [["--file", "dog.png"], /--file dog\.png cannot be read \(ENOENT\): give the path of a file/],
      [["--file", "folder.png"], /--file folder\.png is no file/],
      [["--file", "empty.png"], /--file empty\.png is empty/],
      [
        ["--file", "large.pdf"],
        /--file large\.pdf has 20\.1 MB, and the files of a message have at most 20 MB/,
      ],
      [["--file", "tool.exe"], /--file tool\.exe has an ending that says no type: use one of \.png, /],
      [["--file", "cat.PNG", "--event", "paid"], /--file is for a text, and --event sends an event/],
      [[], /send needs a text, a file, or the name of an event/],
    ] as const) {
      const { exitCode, stderr } = await send(...argv);
      expect([exitCode, stderr.replaceAll("\n", " ")]).toEqual([2, expect.stringMatching(message)]);
    }
    expect((await here("show", "chat")).stdout).not.toMatch(/mailbox|Files/);
  });
});
