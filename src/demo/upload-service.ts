import type { AnswerHold } from "./answer-hold.ts";
import { idempotencyKeyOf, jsonAnswer, listenOnLoopback } from "./loopback-server.ts";

export type StoredObject = { readonly name: string; readonly bytes: Uint8Array };

export type UploadService = {
  /** `PUT {url}/:name` with an Idempotency-Key stores a file; `GET {url}/:key` gives it back. */
  readonly url: string;
  /** The names of the files that were sent, in order, whatever came of it. */
  readonly requests: readonly string[];
  /** What is stored, by the key that it came with. */
  readonly objects: ReadonlyMap<string, StoredObject>;
  readonly close: () => Promise<void>;
};

/**
 * Stores files, as object stores with idempotency keys do: a second upload with a key that it knows stores nothing and is
 * answered like the first.
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
