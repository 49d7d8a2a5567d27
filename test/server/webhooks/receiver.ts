// A receiver of webhooks, which checks signatures as the specification of Standard Webhooks says, without any code of ours.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type Received = {
  readonly id: string;
  readonly timestamp: number;
  readonly signatures: string;
  readonly body: string;
  /** What the body says. */
  readonly message: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: { readonly [name: string]: unknown };
  };
};

export type Receiver = {
  readonly url: string;
  readonly received: readonly Received[];
  /** How the next requests are answered; with 200 once there are no more. */
  readonly answerWith: (...answers: readonly ((response: ServerResponse) => void)[]) => void;
};

export const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(code, headers).end("thanks");
  };

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const answers: ((response: ServerResponse) => void)[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const header = (name: string) => String(request.headers[name]);
      received.push({
        id: header("webhook-id"),
        timestamp: Number(header("webhook-timestamp")),
        signatures: header("webhook-signature"),
        body,
        message: JSON.parse(body),
      });
      (answers.shift() ?? status(200))(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    received,
    answerWith: (...next) => void answers.push(...next),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const piece of request) body += String(piece);
  return body;
}

/** True if one of the signatures is that of the secret. */
export function isSignedWith(secret: string, { id, timestamp, signatures, body }: Received): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  return signatures.split(" ").some((each) => {
    const [version, signature = ""] = each.split(",");
    const given = Buffer.from(signature, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}
