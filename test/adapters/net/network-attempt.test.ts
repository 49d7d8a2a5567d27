import { channel } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type NetworkAttempt, watchNetwork } from "../../../src/adapters/net/network-attempt.ts";
import { answer, FakeOpenAiServer } from "../ai-sdk/fake-openai-server.ts";

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(async () => {
  await server.close();
});

const post = (address: string) => fetch(address, { method: "POST", body: "{}" });

describe("the network progress of a call", () => {
  it("is unseen if nothing was requested", async () => {
    expect(await watchNetwork(async (attempt) => attempt.progress)).toBe("unseen");
  });

  it("is sent for a request that was sent, even if the answer never arrives", async () => {
    server.next(answer("hello"), { kind: "reset" });
    const progress = () =>
      watchNetwork(async (attempt) => {
        await post(server.baseUrl).catch(() => {});
        return attempt.progress;
      });
    expect(await progress()).toBe("sent");
    expect(await progress()).toBe("sent");
  });

  it("is created for a request that was not sent, since nothing listens", async () => {
    await server.close();
    const progress = await watchNetwork(async (attempt) => {
      await expect(post(server.baseUrl)).rejects.toThrow("fetch failed");
      return attempt.progress;
    });
    expect(progress).toBe("created");
    server = await FakeOpenAiServer.start();
  });

  it("does not include concurrent requests of others", async () => {
    server.next(answer("hello"));
    const idle = watchNetwork(async (attempt) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return attempt.progress;
    });
    await post(server.baseUrl);
    expect(await idle).toBe("unseen");
  });

  it("follows the request if its headers are written in another call's context", async () => {
    const request = {};
    const attempts: NetworkAttempt[] = [];
    await watchNetwork(async (attempt) => {
      attempts.push(attempt);
      channel("undici:request:create").publish({ request });
    });
    await watchNetwork(async (attempt) => {
      attempts.push(attempt);
      channel("undici:client:sendHeaders").publish({ request, headers: "", socket: null });
    });
    expect(attempts.map((attempt) => attempt.progress)).toEqual(["sent", "unseen"]);
  });
});
