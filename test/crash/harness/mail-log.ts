// The log of a mail server, in a file of its own; and the line reader that both sides of the connection use.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";

export type Mail = { readonly messageId: string; readonly to: string; readonly text: string };

function mailLog(folder: string): string {
  return join(folder, "mail.jsonl");
}

/** Every message that it accepted, in order. */
export function readMails(folder: string): Mail[] {
  if (!existsSync(mailLog(folder))) return [];
  const lines = readFileSync(mailLog(folder), "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Mail);
}

export function logMail(folder: string, to: string, message: readonly string[]): void {
  const messageId = /^Message-ID: <(.*)@/im.exec(message.join("\n"))?.[1] ?? "";
  const mail: Mail = { messageId, to, text: message.slice(message.indexOf("") + 1).join("\n") };
  appendFileSync(mailLog(folder), `${JSON.stringify(mail)}\n`);
}

/** Whole lines, without their ends. Rejects when the connection is reset. */
export async function* linesOf(socket: Socket): AsyncGenerator<string, void, undefined> {
  let text = "";
  for await (const chunk of socket.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (text + chunk).split("\r\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}
