import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as restate from "@restatedev/restate-sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { restateRun, sweepReady, wake } from "../../../src/adapters/restate/restate.ts";
import { ConfigurationError, Pipeline, Runner, Step } from "../../../src/index.ts";
import { memoryStore } from "../../engine/run-fixture.ts";

type Asked = { readonly url: string | undefined; readonly key: unknown; readonly token: unknown };

/** Answers as the ingress of Restate, and keeps what it was asked. */
async function ingress(status: number): Promise<{ readonly url: string; readonly asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push({ url, key: headers["idempotency-key"], token: headers.authorization });
    response.writeHead(status).end("service 'pawl-run' not found");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const one = Pipeline.of(
  "one",
  Step.run("only", () => 1),
);

describe("pawl/restate", () => {
  it("refuses options that it does not have", async () => {
    const store = await memoryStore();
    const runner = new Runner(one, { store });
    expect(() => restateRun(restate, runner, { options: {} } as object)).toThrow("did you mean object?");
    await expect(wake("http://127.0.0.1:1", "run-1", { delay: 5 } as object)).rejects.toThrow(
      ConfigurationError,
    );
    await expect(wake("http://127.0.0.1:1", "../admin")).rejects.toThrow("../admin");
    const wrong = { pipeline: "one" } as unknown as { pipelines: string[] };
    await expect(sweepReady(store, "http://127.0.0.1:1", wrong)).rejects.toThrow("did you mean pipelines?");
  });

  it("says what to check if Restate does not know the object", async () => {
    const { url } = await ingress(404);
    await expect(wake(url, "run-1")).rejects.toThrow(
      /did not accept run run-1 \(404\).*that pawl-run is registered/,
    );
  });

  it("sends a sweep with a key, a wake without one, and the headers that it was given", async () => {
    const store = await memoryStore();
    await new Runner(one, { store }).enqueue(1, { runId: "run:1" });
    const { url, asked } = await ingress(202);
    const place = { url: `${url}/behind/`, headers: { authorization: "Bearer x" } };
    expect(await sweepReady(store, place, { pipelines: ["one"], name: "mine" })).toEqual(["run:1"]);
    await wake(place, "run:1", { name: "mine" });
    const path = "/behind/mine/run%3A1/advance/send";
    expect(asked).toEqual([
      { url: path, key: "pawl-sweep", token: "Bearer x" },
      { url: path, key: undefined, token: "Bearer x" },
    ]);
  });
});
