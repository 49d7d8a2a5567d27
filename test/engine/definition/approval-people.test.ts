// Rules of policy.approve: which calls need approval, by how many people, and that the person who started the run
// does not count.

import { describe, expect, it } from "vitest";
import { openStore, Runner, type RunnerOptions, type Store } from "../../../src/index.ts";
import { acting, actTool } from "../call/call-fixture.ts";
import { databaseFile, failureOf, memoryStore, scriptedAgent } from "../run-fixture.ts";

const ANN = { authenticated: { name: "ann", by: "oidc", id: "u-1" } };
const BOB = { authenticated: { name: "bob", by: "oidc", id: "u-2" } };

function runnerOf(store: Store, policy: NonNullable<RunnerOptions["policy"]>) {
  const { act, calls } = actTool();
  const { agent } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
  return { runner: new Runner(agent, { store, policy }), calls };
}

describe("a rule of policy.approve", () => {
  it.each([
    [{ match: "a*" }, true],
    [{ match: "ACT" }, true],
    [{ match: "local:act" }, true],
    [{ match: "external" }, true],
    [{ match: "pay*" }, false],
    [{ match: "read_only" }, false],
  ])("%j: a person is asked: %s", async (rule, isAsked) => {
    const { runner } = runnerOf(await memoryStore(), { approve: [rule] });
    expect((await runner.run("Go")).status).toBe(isAsked ? "waiting" : "succeeded");
  });

  it("requires the strictest settings of all rules that match the tool", async () => {
    const approve = ["external", { match: "act", people: 2 }, { match: "a*", notStarter: true }] as const;
    const { runner } = runnerOf(await memoryStore(), { approve });
    const { waits } = await runner.run("Go", { startedBy: ANN });
    expect(waits[0]?.subject).toMatchObject({ people: 2, notStarter: true });
  });

  it.each([
    ["dangerous", /policy\.approve has "dangerous": use external/],
    [{ match: "" }, /policy\.approve\[0\]\.match is an empty text/],
    [{ match: "a", people: 0 }, /policy\.approve\[0\]\.people is 0: give a whole number from 1 to 100/],
    [{ match: "a", people: "two" }, /people is "two"/],
    [{ match: "a", notStarter: "yes" }, /notStarter is "yes": give true or false/],
    [{ match: "a", persons: 2 }, /has no "persons": use one of match, people, notStarter/],
  ])("%j is refused", async (rule, why) => {
    const store = await memoryStore();
    expect(() => runnerOf(store, { approve: [rule as never] })).toThrow(why);
  });
});

describe("a call that needs two approvals", () => {
  it("runs after the second one, which may come from another process", async () => {
    const file = databaseFile();
    const open = () => openStore(`file:${file}`);
    const approve = [{ match: "act", people: 2, notStarter: true }];
    let store = await open();
    const { waits } = await runnerOf(store, { approve }).runner.run("Go", { runId: "r-1", startedBy: ANN });
    expect(waits).toHaveLength(1);
    expect(String(await failureOf(store.approve("r-1~1", ANN)))).toContain("who started the run");
    await store.approve("r-1~1", BOB);
    await store.close();

    store = await open();
    const between = runnerOf(store, { approve });
    expect((await between.runner.resume("r-1")).status).toBe("waiting");
    expect(between.calls).toEqual([]);
    expect(String(await failureOf(store.approve("r-1~1", { ...BOB, by: "Carl" })))).toContain(
      "bob has approved it already",
    );
    await store.close();

    store = await open();
    await store.approve("r-1~1", { authenticated: { name: "Carl", by: "os", id: "7" } });
    const last = runnerOf(store, { approve });
    expect((await last.runner.resume("r-1")).output).toBe("End.");
    expect(last.calls).toHaveLength(1);
    expect((await store.verify("r-1")).problems).toEqual([]);
    expect((await store.listWaits("r-1"))[0]?.answeredBy).toBe("bob and Carl");
    await store.close();
  });

  it("is asked about again if the rule has become stricter since", async () => {
    const store = await memoryStore();
    await runnerOf(store, { approve: ["external"] }).runner.run("Go", { runId: "r-1" });
    await store.approve("r-1~1", ANN);
    const { runner, calls } = runnerOf(store, { approve: [{ match: "act", people: 2 }] });
    const { status, waits } = await runner.resume("r-1");
    expect([status, waits.map(({ waitId }) => waitId), calls]).toEqual(["waiting", ["r-1~2"], []]);
  });
});

it("A run without a known starter is refused if a rule requires another approver", async () => {
  const store = await memoryStore();
  const { runner } = runnerOf(store, { approve: [{ match: "act", notStarter: true }] });
  expect(String(await failureOf(runner.run("Go", { runId: "r-1" })))).toContain("say who starts it");
  expect(await store.getRun("r-1")).toBeNull();
});

it("The person who started a run is stored with it", async () => {
  const store = await memoryStore();
  await runnerOf(store, {}).runner.run("Go", { runId: "r-1", startedBy: { ...ANN, by: "the boss" } });
  expect((await store.getRun("r-1"))?.startedBy).toMatchObject({
    name: "the boss",
    authenticated: ANN.authenticated,
  });
});
