import type { AnswerHold } from "./answer-hold.ts";
import { idempotencyKeyOf, jsonAnswer, listenOnLoopback } from "./loopback-server.ts";

type StoredObject = { readonly name: string; readonly bytes: Uint8Array };

export type UploadService = {
  /** `PUT {url}/:name` with an Idempotency-Key stores a file; `GET {url}/:key` returns it. */
  readonly url: string;
  /** The names of the files that were sent, in order, duplicates included. */
  readonly requests: readonly string[];
  /** The stored files, by idempotency key. */
  readonly objects: ReadonlyMap<string, StoredObject>;
  readonly close: () => Promise<void>;
};

/**
 * Stores files like an object store with idempotency keys: a second upload with a known key stores nothing and gets the
 * same answer as the first.
 */
export async function openUploadService(hold: AnswerHold): Promise<UploadService> {
  const requests: string[] = [];
  const objects = new Map<string, StoredObject>();
  const server = await listenOnLoopback(async (request) => {
    const [, folder, last = ""] = request.path.split("/");
    if (folder !== "objects" || last === "") return jsonAnswer(404, { error: "There is nothing here." });
    if (request.method === "GET") {
      const object = objects.get(last);
      if (object === undefined) return jsonAnswer(404, { error: "Nothing was stored under this key." });
      return { status: 200, type: "application/octet-stream", body: object.bytes };
    }
    const [name, key] = [decodeURIComponent(last), idempotencyKeyOf(request)];
    if (key === null) return jsonAnswer(400, { error: "Send an Idempotency-Key." });
    requests.push(name);
    const isNew = !objects.has(key);
    if (isNew) {
      objects.set(key, { name, bytes: request.body });
      await hold.pass("upload", name);
    }
    return jsonAnswer(isNew ? 201 : 200, { location: `${server.url}/objects/${key}` });
  });
  return { url: `${server.url}/objects`, requests, objects, close: server.close };
}
