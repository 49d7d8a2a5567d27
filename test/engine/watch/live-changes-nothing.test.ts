import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isJsonObject, type Json } from "../../../src/core/json.ts";
import { agent, ModelCallError, Runner, type RunnerOptions, type Store } from "../../../src/index.ts";
import { LiveBuffer } from "../../../src/store/live/live-buffer.ts";
import { LiveFile } from "../../../src/store/sqlite/live-file.ts";
import { databaseFile, fileStore } from "../run-fixture.ts";
import { response, type StreamedAnswer, streamingPort, text } from "./streaming-port.ts";

/** An attempt that fails in the middle, then a long answer in many pieces. */
function answers(inTheMiddle: () => void): readonly StreamedAnswer[] {
  return [
    (say) => {
      say(text("Half"));
      throw new ModelCallError("The stream broke.", {
        kind: "no_answer",
        status: null,
        retryAfterMs: 0,
        retryable: true,
      });
    },
    async (say) => {
      for (let i = 0; i < 30; i++) {
        if (i === 15) inTheMiddle();
        say(text(`word ${i} ${"x".repeat(1_000)}`));
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      return response("The whole answer.");
    },
  ];
}

/** What is stored of the run, without what differs between any two runs: owners, times and digests of them. */
async function storedOf(store: Store): Promise<unknown> {
  const withoutOwn = (data: Json) => {
    if (!isJsonObject(data)) return data;
    const { owner: _, rows: __, marks: ___, ...facts } = data;
    return facts;
  };
  const events = await store.listEvents("q-1");
  expect((await store.verify("q-1")).problems).toEqual([]);
  return {
    events: events.map(({ seq, type, data }) => [seq, type, withoutOwn(data)]),
    turns: (await store.listTurns("q-1")).map(({ response: stored, tokens }) => [stored, tokens]),
    usage: await store.readUsage("q-1"),
  };
}

async function stored(
  options: RunnerOptions = {},
  {
    inTheMiddle = () => undefined,
    maxPages,
  }: { inTheMiddle?: (file: string) => void; maxPages?: number } = {},
): Promise<{ readonly rows: unknown; readonly warnings: readonly string[] }> {
  const file = databaseFile();
  const real = await fileStore(file);
  const small = maxPages === undefined ? null : new LiveBuffer(new LiveFile(`${file}-live`, { maxPages }));
  const store = small === null ? real : withLive(real, small);
  const warnings: string[] = [];
  const model = streamingPort(...answers(() => inTheMiddle(`${file}-live`)));
  const runner = new Runner(agent({ name: "clerk", model, instructions: "Answer." }), {
    store,
    onEvent: (event) => {
      if (event.type === "warning") warnings.push(event.message);
    },
    random: () => 0,
    live: true,
    ...options,
  });
  await runner.run("Hello?", { runId: "q-1" });
  await small?.close();
  return { rows: await storedOf(store), warnings };
}

/** A model that can stream, and the listener that it was given with each request. */
function listenedPort() {
  const listeners: unknown[] = [];
  const model = streamingPort(() => response("Hello"));
  const port = {
    ...model,
    respond: (request: never, live?: never) => {
      listeners.push(live);
      return model.respond(request, live);
    },
  };
  return { port, listeners };
}

function withLive(store: Store, live: LiveBuffer): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "live") return live;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function removed(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
}

describe("what is stored of a run", () => {
  it("is the same with answers shown, without, and whatever happens to the file of live parts", async () => {
    const { rows: expected, warnings } = await stored({ live: false });
    expect(warnings).toEqual([]);
    expect(await stored()).toEqual({ rows: expected, warnings: [] });
    expect(await stored({}, { inTheMiddle: removed })).toEqual({ rows: expected, warnings: [] });
    const one = [expect.stringMatching(/^Its answers are not shown .* The reason: .*\.$/)];
    const garbage = (file: string) => {
      removed(file);
      writeFileSync(file, "garbage ".repeat(1_000));
    };
    expect(await stored({}, { inTheMiddle: garbage })).toEqual({ rows: expected, warnings: one });
    const folder = (file: string) => {
      removed(file);
      mkdirSync(file);
    };
    expect(await stored({}, { inTheMiddle: folder })).toEqual({ rows: expected, warnings: one });
    expect(await stored({}, { maxPages: 6 })).toEqual({ rows: expected, warnings: one });
  });

  it("is a warning, once a run, if a streamed answer has no usage figures", async () => {
    const warnings: string[] = [];
    const silent: StreamedAnswer = (say) => {
      say(text("Hello"));
      return response("Hello", { usage: null });
    };
    const clerk = agent({ name: "clerk", model: streamingPort(silent), instructions: "Answer." });
    const runner = new Runner(clerk, {
      store: await fileStore(databaseFile()),
      onEvent: (event) => {
        if (event.type === "warning") warnings.push(event.message);
      },
      live: true,
    });
    await runner.run("Hello?");
    expect(warnings).toEqual([expect.stringMatching(/without usage figures.*includeUsage.*live: false/)]);
  });

  it("an answer is asked for whole, unless somebody watches the run when it begins", async () => {
    const { port, listeners } = listenedPort();
    const file = databaseFile();
    const [store, other] = [await fileStore(file), await fileStore(file)];
    const runner = new Runner(agent({ name: "clerk", model: port, instructions: "Answer." }), { store });
    await runner.run("Hello?", { runId: "alone" });
    await runner.enqueue("Hello?", { runId: "watched" });
    other.live?.announce("watched");
    await runner.resume("watched");
    expect(listeners).toEqual([undefined, expect.any(Function)]);
  });

  it("a runner with live: false asks for whole answers, and one with live: true for none", async () => {
    const { port, listeners } = listenedPort();
    const runner = (live: boolean, store: Store) =>
      new Runner(agent({ name: "clerk", model: port, instructions: "Answer." }), { store, live });
    const store = await fileStore(databaseFile());
    await runner(true, store).run("Hello?", { fresh: true });
    await runner(false, store).run("Hello?", { fresh: true });
    expect(listeners).toEqual([expect.any(Function), undefined]);
    expect(() => runner("yes" as never, store)).toThrow(/The runner's live is a string: give true or false/);
  });
});
