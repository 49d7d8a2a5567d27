// A mail server with just enough SMTP to accept a message; it resets connections on request.

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { linesOf, logMail } from "./mail-log.ts";

/** How a connection ends: `reset-after-accepting` resets it between the message and its 250. */
export type ConnectionEnd = "answered" | "reset-after-accepting" | "reset-before-accepting";

/** A server for one test. The first connections end like this; all others are answered. */
export async function mailServer(
  folder: string,
  ends: readonly ConnectionEnd[],
): Promise<{ readonly port: number }> {
  const left = [...ends];
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

async function converse(socket: Socket, folder: string, end: ConnectionEnd): Promise<void> {
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
      if (end !== "reset-before-accepting") logMail(folder, to, message);
      message = null;
      if (end !== "answered") return void socket.resetAndDestroy();
      say("250 accepted");
    } else if (verb === "QUIT") {
      say("221 bye");
      return void socket.end();
    } else if (verb === "DATA") {
      message = [];
      say("354 go ahead");
    } else if (["EHLO", "HELO", "MAIL", "RCPT"].includes(verb)) {
      if (verb === "RCPT") to = /<(.*)>/.exec(line)?.[1] ?? "";
      say("250 ok");
    } else say("502 not here");
  }
}
