// One attack a row. Each is refused by the server as it is, and succeeds on a copy of the sources without the guard.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IS_FULL_TEST } from "../../full-test.ts";
import { bundlePatched, makeBundleFolder } from "../../patched-sources.ts";
import { PATIENCE } from "../../patience.ts";
import { ACCESS_ATTACKS } from "./access-attacks.ts";
import { type Attack, cancels } from "./attack.ts";
import { OWN, target as ours, type Target } from "./attacked-server.ts";
import { ORIGIN_ATTACKS } from "./origin-attacks.ts";
import { REQUEST_ATTACKS } from "./request-attacks.ts";
import { SWITCHED, WEAKENINGS, without } from "./weakenings.ts";

const ATTACKS: readonly Attack[] = [...ORIGIN_ATTACKS, ...REQUEST_ATTACKS, ...ACCESS_ATTACKS];

const { folder, remove } = makeBundleFolder();
let copy: Target;

beforeAll(async () => {
  const file = join(folder, "attacked-server.mjs");
  await bundlePatched("test/server/attacks/attacked-server.ts", file, SWITCHED);
  const bundle = (await import(pathToFileURL(file).href)) as { readonly target: Target };
  copy = bundle.target;
}, PATIENCE.timeout);
afterAll(() => {
  remove();
  for (const { options } of ATTACKS)
    if (typeof options?.dashboard === "string")
      rmSync(join(options.dashboard, ".."), { recursive: true, force: true });
});

async function tried({ attempt, options = {} }: Attack, target: Target): Promise<string> {
  const server = await target.attackedServer(options);
  try {
    return await attempt(server, target);
  } finally {
    await server.close();
  }
}

describe("an attack", () => {
  it.each(ATTACKS)("is refused, and succeeds without its guard: $name", PATIENCE, async (attack) => {
    expect(await tried(attack, ours), "on our sources").toBe(attack.refusal);
    if (IS_FULL_TEST)
      expect(await without([], () => tried(attack, copy)), "on a copy of them").toBe(attack.refusal);
    expect(await without(attack.without, () => tried(attack, copy)), "without the guard").toBe(attack.gain);
  });

  it("is there for each guard", () => {
    const used = new Set(ATTACKS.flatMap((attack) => attack.without));
    expect(Object.keys(WEAKENINGS).filter((name) => !used.has(name as keyof typeof WEAKENINGS))).toEqual([]);
  });
});

describe("a request that is none", () => {
  it("passes: of the page itself, by either header, and of a program with a token, wherever its page is", async () => {
    for (const headers of [OWN, { origin: "http://127.0.0.1:4747" }]) {
      const server = await ours.attackedServer();
      expect(await cancels(server, { ...(await server.cookie("operator")), ...headers })).toBe(
        "200, cancelled",
      );
      await server.close();
    }
    const server = await ours.attackedServer();
    const headers = { ...(await server.bearer("operator")), origin: "https://other.example" };
    expect(await cancels(server, headers)).toBe("200, cancelled");
    await server.close();
  });
});

describe("an id in a path", () => {
  it.each([
    ["%2e%2e", "404 no_such_path"],
    ["..%2F..%2Fetc%2Fpasswd", "404 run_not_found"],
    ["%252e%252e", "404 run_not_found"],
    ["%00", "400 bad_path"],
  ])("that is %s stays one id, or is no path at all", async (id, answer) => {
    const server = await ours.attackedServer();
    expect(await cancels(server, await server.bearer("operator"), `/v1/runs/${id}/cancel`)).toBe(answer);
    await server.close();
  });
});
