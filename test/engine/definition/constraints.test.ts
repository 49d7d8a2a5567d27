// Constraints are enforced where tools are called, whatever the model, the code or an approval says.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  ConfigurationError,
  type Constraints,
  guardedFetch,
  Runner,
  type RunnerOptions,
  Step,
  ToolFailedError,
  tool,
} from "../../../src/index.ts";
import { acting, actTool, asking, crashAt, ledger, runnerOf } from "../call/call-fixture.ts";
import { failureAs, failureOf, memoryStore, must, toolResults } from "../run-fixture.ts";

const forbidding = (...forbiddenActions: string[]) => ({ constraints: { forbiddenActions } });

describe("forbiddenActions", () => {
  it.each<[string, string, boolean]>([
    ["its name", "act", true],
    ["its name in another case", "ACT", true],
    ["a pattern", "a*", true],
    ["its namespace", "shop:*", true],
    ["its whole name", "shop:act", true],
    ["its name with other separators", "Shop/ACT", true],
    ["its name with an invisible character", "a\u200bct", true],
    ["a pattern of another name", "acts*", false],
    ["another namespace", "bank:*", false],
    ["a pattern that looks like the namespace", "sho*", false],
  ])("with %s (%s): forbidden is %s", async (_what, pattern, isForbidden) => {
    const store = await memoryStore();
    const { act, calls } = actTool(undefined, { namespace: "shop" });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")], forbidding("other_*", pattern));
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    expect(calls).toHaveLength(isForbidden ? 0 : 1);
    const [seen] = toolResults(prompts[1]);
    if (!isForbidden) return expect(seen).toMatchObject({ value: "done 1" });
    expect(seen).toEqual({
      type: "error-text",
      value: `act is forbidden in this run (${pattern}): continue without it.`,
    });
    expect(await store.listToolCalls("r-1")).toMatchObject([
      { status: "cancelled", attempt: 0, receipt: { errorCode: "forbidden", uncertain: false } },
    ]);
  });

  it("does not affect the other calls of the turn", async () => {
    const store = await memoryStore();
    const tools = { act: actTool().act, send: actTool(undefined, { name: "send" }).act };
    const both = asking(["send", { what: "a" }], ["act", { what: "a" }]);
    await runnerOf(store, tools, [both], forbidding("send*")).runner.run("Go", { runId: "r-1" });
    expect((await ledger(store)).map(([status]) => status)).toEqual(["cancelled", "succeeded"]);
  });

  it("makes the call fail in a code step", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool();
    const step = Step.run("code", (_input, ctx) => ctx.call(act, { what: "a" }));
    const run = new Runner(step, { store, ...forbidding("act") }).run("Go");
    expect((await failureAs(ToolFailedError, run)).message).toMatch(/forbidden in this run \(act\)/);
    expect(calls).toEqual([]);
  });

  it("overrides approval: no question is asked", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(undefined, { approval: true });
    const { runner } = runnerOf(store, { act }, [acting("a")], forbidding("act"));
    expect((await runner.run("Go")).status).toBe("succeeded");
    expect(calls).toEqual([]);
  });

  it("applies to a call that was approved before the rule existed", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(undefined, { approval: true });
    await runnerOf(store, { act }, [acting("a")]).runner.run("Go", { runId: "r-1" });
    await store.approve("r-1~1");
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")], forbidding("act"));
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(calls).toEqual([]);
    expect(toolResults(prompts[0])).toMatchObject([{ value: expect.stringContaining("forbidden") }]);
  });

  it("withdraws an open question about the call", async () => {
    const store = await memoryStore();
    const { act } = actTool(undefined, { approval: true });
    await runnerOf(store, { act }, [acting("a")]).runner.run("Go", { runId: "r-1" });
    const { status, waits } = await runnerOf(store, { act }, [acting("a")], forbidding("act")).runner.resume(
      "r-1",
    );
    expect(status).toBe("succeeded");
    expect(waits).toEqual([]);
  });

  it("applies to a call that was prepared before the rule existed", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool();
    const one = { maxParallelToolCalls: 1 };
    const turns = [acting("a", "b")];
    const dying = runnerOf(store, { act }, turns, { ...one, probe: crashAt("tool:executed") });
    await failureOf(dying.runner.run("Go", { runId: "r-1" }));
    expect((await ledger(store))[1]).toEqual(["prepared", 0, null]);
    await store.settle("r-1/worker#1.1", { as: "succeeded", result: "by hand" });
    await runnerOf(store, { act }, turns, { ...one, ...forbidding("act") }).runner.resume("r-1");
    expect(whats).toEqual(["a"]);
    expect((await ledger(store)).map(([status]) => status)).toEqual(["succeeded", "cancelled"]);
  });
});

describe("the declared URLs of a tool", () => {
  async function connecting(to: string[], options: RunnerOptions = {}, urls?: () => readonly string[]) {
    const store = await memoryStore();
    const { act, calls } = actTool(undefined, { urls: urls ?? (() => to) });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")], options);
    await runner.run("Go", { runId: "r-1" });
    const [call] = await store.listToolCalls("r-1");
    expect(calls).toHaveLength(call?.status === "succeeded" ? 1 : 0);
    const [seen] = toolResults(prompts[1]) as { value: string }[];
    return call?.status === "succeeded" ? "ran" : `${call?.receipt?.errorCode}: ${seen?.value}`;
  }
  const within = (...allowedDomains: string[]) => ({ constraints: { allowedDomains } });

  it("must all be in allowedDomains", async () => {
    const rules = within("example.com", "*.example.org");
    expect(await connecting(["https://example.com/a"], rules)).toBe("ran");
    expect(await connecting(["https://api.example.org/a", "https://example.com"], rules)).toBe("ran");
    expect(await connecting(["https://example.com", "https://evil.com/?q=1"], rules)).toMatch(
      /^network_refused: act may not connect there: The host evil\.com is not in allowedDomains/,
    );
    expect(await connecting([], rules)).toBe("ran");
  });

  it("may be any public address without allowedDomains, but no private one", async () => {
    expect(await connecting(["https://anything.example.com"])).toBe("ran");
    for (const url of [
      "http://localhost/",
      "http://127.1/",
      "http://169.254.169.254/",
      "http://[::1]/",
      "http://10.0.0.1/",
    ])
      expect(await connecting([url])).toMatch(
        /^network_refused: .+(?:private or reserved|the credentials of a cloud)/,
      );
    expect(await connecting(["http://10.0.0.1/"], { policy: { allowPrivateAddresses: true } })).toBe("ran");
  });

  it("must be valid http URLs", async () => {
    expect(await connecting(["example.com"])).toMatch(/^network_refused/);
    expect(await connecting(["file:///etc/passwd"])).toMatch(/^network_refused/);
  });

  it("refuse the call if they cannot be computed", async () => {
    expect(await connecting([], {}, () => must<string[]>(null))).toMatch(
      /^network_refused: The urls function of act failed, so the hosts that it would connect to are unknown/,
    );
    expect(await connecting([], {}, () => undefined as never)).toMatch(/^network_refused/);
  });
});

describe("guardedFetch", () => {
  /** A local server that redirects "/away" elsewhere and records the requested paths. */
  async function localServer(away = "http://192.0.2.1/") {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url ?? "");
      if (request.url === "/away") response.writeHead(302, { location: away }).end();
      else response.end("hello");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
  }

  const get = tool({
    name: "get",
    description: "Gets a page.",
    inputSchema: z.object({ url: z.string() }),
    recovery: "opaque",
    execute: async ({ url }, call) => (await guardedFetch(call)(url)).text(),
  });

  async function getting(url: string, options: RunnerOptions) {
    const store = await memoryStore();
    const { runner, prompts } = runnerOf(store, { get }, [asking(["get", { url }])], options);
    await runner.run("Go");
    return (toolResults(prompts[1])[0] as { value: string }).value;
  }
  const within = (...allowedDomains: string[]): { constraints: Constraints } => ({
    constraints: { allowedDomains },
  });

  it("connects only where the rules of its call allow", async () => {
    const { host, paths } = await localServer();
    expect(await getting(`http://${host}/a`, within(host))).toBe("hello");
    expect(await getting(`http://${host}/b`, { policy: { allowPrivateAddresses: true } })).toBe("hello");
    expect(await getting(`http://${host}/c`, {})).toMatch(/private or reserved/);
    expect(await getting(`http://${host}/d`, within("example.com"))).toMatch(/not in allowedDomains/);
    expect(paths).toEqual(["/a", "/b"]);
  });

  it("does not follow a redirect to a forbidden host", async () => {
    const elsewhere = await localServer();
    const { host, paths } = await localServer(`http://${elsewhere.host}/`);
    expect(await getting(`http://${host}/away`, within(host))).toMatch(/Refused to follow a redirect/);
    expect([paths, elsewhere.paths]).toEqual([["/away"], []]);
  });
});

describe("a runner refuses", () => {
  it.each<[string, unknown, RegExp]>([
    [
      "a pattern in place of a list",
      { constraints: { forbiddenActions: "send_*" } },
      /forbiddenActions is not a list/,
    ],
    [
      "an empty pattern",
      { constraints: { forbiddenActions: ["x", " "] } },
      /forbiddenActions\[1\] is an empty text/,
    ],
    ["a pattern that is no text", { policy: { sideEffectDenylist: [7] } }, /sideEffectDenylist\[0\]/],
    [
      "a domain that is a URL",
      { constraints: { allowedDomains: ["https://a.com/"] } },
      /allowedDomains .+no host/,
    ],
    ["key names in place of a list", { policy: { secretKeys: "apiKey" } }, /secretKeys is not a list/],
    ["an unknown effect class", { policy: { approve: ["externl"] } }, /approve has "externl": use external/],
    ["an effect class in place of a list", { policy: { approve: "external" } }, /approve/],
    ["a policy that is no object", { policy: null }, /policy/],
    ["an unknown constraint", { constraints: { forbidden: ["act"] } }, /forbidden/],
    ["an unknown policy option", { policy: { secretKey: ["apiKey"] } }, /secretKey/],
    ["a negative number of retries", { maxRetriesPerToolCall: -1 }, /maxRetriesPerToolCall is -1/],
    ["zero repeated errors", { maxSameErrorRepeats: 0 }, /maxSameErrorRepeats is 0/],
    ["zero parallel calls", { maxParallelToolCalls: 0 }, /maxParallelToolCalls is 0/],
  ])("%s, in one clear sentence", (_name, options, words) => {
    const step = Step.run("a", () => null);
    const make = () => new Runner(step, options as RunnerOptions);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(words);
    expect(make).not.toThrow(/\n/);
  });
});
