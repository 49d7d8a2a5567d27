import { createAdaptorServer } from "@hono/node-server";
import { afterEach, describe, expect, it } from "vitest";
import { OpenStreams } from "../../../src/server/http/open-streams.ts";

const servers: ReturnType<typeof createAdaptorServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A stream that fails after its first words, as our server sends it. */
async function readFailing(streams: OpenStreams): Promise<string> {
  const body = () =>
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
      pull: async (controller) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.error(new Error("password=hunter2"));
      },
    });
  const server = createAdaptorServer({
    fetch: (_, { outgoing }) => {
      const response = new Response(body(), { headers: { "content-type": "text/event-stream" } });
      return streams.over(outgoing, response);
    },
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  return response.text().catch(() => "broken");
}

describe("a stream that fails", () => {
  it("is broken, and nothing of the error is in it", async () => {
    expect(await readFailing(new OpenStreams())).toBe("broken");
  });
});
