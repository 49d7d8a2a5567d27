import type { AnswerHold } from "./answer-hold.ts";
import { idempotencyKeyOf, jsonAnswer, listenOnLoopback } from "./loopback-server.ts";

export type NotificationService = {
  /** `POST {url}` with an Idempotency-Key and a text. */
  readonly url: string;
  /** The texts that were sent, in order, duplicates included. */
  readonly requests: readonly string[];
  /** The texts that were shown, by idempotency key. */
  readonly shown: ReadonlyMap<string, string>;
  readonly close: () => Promise<void>;
};

/** Shows notifications, once for each key. */
export async function openNotificationService(hold: AnswerHold): Promise<NotificationService> {
  const requests: string[] = [];
  const shown = new Map<string, string>();
  const { url, close } = await listenOnLoopback(async (request) => {
    const key = idempotencyKeyOf(request);
    if (key === null) return jsonAnswer(400, { error: "Send an Idempotency-Key." });
    const text = Buffer.from(request.body).toString("utf8");
    requests.push(text);
    if (!shown.has(key)) {
      shown.set(key, text);
      await hold.pass("notification", text);
    }
    return jsonAnswer(202, { id: key.slice(0, 12) });
  });
  return { url: `${url}/notifications`, requests, shown, close };
}
