import { expect, it } from "vitest";
import { whileRecognized } from "../../../src/server/http/while-recognized.ts";
import { bearer, testServer } from "../test-server.ts";

/** A stream that says something now and then, and notes that its reader has gone. */
function talking() {
  const seen = { isLeft: false };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("event: hello\n\n")),
    cancel: () => {
      seen.isLeft = true;
    },
  });
  return { seen, response: new Response(body, { headers: { "content-type": "text/event-stream" } }) };
}

it("a stream breaks once its reader is no longer allowed to read it, and its source hears of it", async () => {
  const { seen, response } = talking();
  let isAllowed = true;
  const reader = whileRecognized(response, async () => isAllowed, 5).body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  isAllowed = false;
  await expect(reader?.read()).rejects.toThrow("no longer allowed");
  await expect.poll(() => seen.isLeft).toBe(true);
});

it("a look that fails does not break it, and nobody looks after the reader has gone", async () => {
  const { seen, response } = talking();
  let looks = 0;
  const look = async () => {
    looks += 1;
    throw new Error("The store is busy.");
  };
  const reader = whileRecognized(response, look, 5).body?.getReader();
  await reader?.read();
  await expect.poll(() => looks).toBeGreaterThan(2);
  await reader?.cancel();
  expect(seen.isLeft).toBe(true);
  const before = looks;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(looks).toBe(before);
});

it.each([
  ["stream", "/v1/stream"],
  ["download", "/v1/runs/q-1/export"],
])("a %s of the server breaks after its token was revoked", async (_, path) => {
  const server = testServer({
    handlers: {
      stream: async () => talking().response,
      exportRun: async () => new Response(talking().response.body),
    },
  });
  const token = await server.token("viewer");
  const response = await server.request(path, { headers: bearer(token) });
  const reader = response.body?.getReader();
  await reader?.read();
  for (const { id } of await server.store.listAccess()) await server.store.revokeAccess(id);
  server.access.forget();
  await expect(reader?.read()).rejects.toThrow("no longer allowed");
});
