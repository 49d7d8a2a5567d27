// A mail server that speaks as much SMTP as it takes to be given a message, and loses connections where it is told to.

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { linesOf, logMail } from "./mail-log.ts";

/** What becomes of a connection: `after-accepting` it is reset between the message and its 250. */
export type Fate = "answered" | "reset-after-accepting" | "reset-before-accepting";

/** A server of its own for one test. The first connections come to these ends, all others are answered. */
export async function mailServer(folder: string, fates: readonly Fate[]): Promise<{ readonly port: number }> {
  const left = [...fates];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)).on("error", () => undefined));
    void converse(socket, folder, left.shift() ?? "answered").catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => close(server, sockets));
  return { port: (server.address() as AddressInfo).port };
}

function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  return new Promise((resolve) => server.close(() => resolve()));
}

async function converse(socket: Socket, folder: string, fate: Fate): Promise<void> {
  const say = (reply: string) => socket.write(`${reply}\r\n`);
  let to = "";
  let message: string[] | null = null;
  say("220 mail.example ESMTP");
  for await (const line of linesOf(socket)) {
    if (message !== null && line !== ".") {
      message.push(line);
      continue;
    }
    const [verb = ""] = line.toUpperCase().split(/[ :]/);
    if (message !== null) {
      if (fate !== "reset-before-accepting") logMail(folder, to, message);
      message = null;
      if (fate !== "answered") return void socket.resetAndDestroy();
      say("250 accepted");
    } else if (verb === "QUIT") {
      say("221 bye");
      return void socket.end();
    } else if (verb === "DATA") {
      message = [];
      say("354 go on");
    } else if (["EHLO", "HELO", "MAIL", "RCPT"].includes(verb)) {
      if (verb === "RCPT") to = /<(.*)>/.exec(line)?.[1] ?? "";
      say("250 ok");
    } else say("502 not here");
  }
}
