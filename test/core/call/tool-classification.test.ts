import { describe, expect, it } from "vitest";
import type { RecoveryClass, SideEffectClass } from "../../../src/core/call/tool-call-decision.ts";
import {
  type Classification,
  type ClassifiedTool,
  classifyTool,
  type ToolAnnotations,
  type ToolPolicy,
} from "../../../src/core/call/tool-classification.ts";

function classify(name: string, more: Partial<ClassifiedTool> = {}, policy: ToolPolicy = {}): Classification {
  return classifyTool({ name, declaredEffect: null, declaredRecovery: null, ...more }, policy);
}

describe("the reason names the deciding rule:", () => {
  const server = { server: "github" };
  it.each<[string, Partial<ClassifiedTool>, ToolPolicy, string]>([
    ["get", { declaredEffect: "local" }, {}, "The tool itself declares that it is local."],
    ["get_x", {}, { sideEffectDenylist: ["a", "GET_*"] }, 'sideEffectDenylist has "GET_*".'],
    ["send", {}, { readOnlyAllowlist: ["a", "send"] }, 'readOnlyAllowlist has "send".'],
    ["coreMemoryAppend", {}, {}, "core_memory_append is a known tool that changes the agent's memory."],
    ["crawl_parallel", {}, {}, "crawl_parallel is a known tool that only reads."],
    ["get_or_create", {}, {}, "The word CREATE in its name says that it changes something outside."],
    ["write_file", {}, {}, "The word WRITE in its name says that it changes local files."],
    ["add_memory", {}, {}, "The word ADD in its name says that it changes the agent's memory."],
    ["order_pizza", {}, {}, "The word ORDER in its name says that it changes something outside."],
    ["BUDGET_LIST", {}, {}, "The word LIST in its name says that it only reads."],
    ["view_it", {}, {}, "The word VIEW in its name says that it only reads."],
    ["POSTGRES_QUERY", {}, {}, "The word QUERY in its name can mean any change, so it counts as external."],
    [
      "get_order",
      {},
      {},
      "The word GET in its name says that it reads, but ORDER may be an action, so it counts as external.",
    ],
    ["", {}, {}, "Nothing in its name says what it does, so it counts as external."],
    [
      "get",
      { annotations: { readOnlyHint: false } },
      {},
      "Its server says that it is not read-only (readOnlyHint: false).",
    ],
    [
      "send",
      { ...server, annotations: { readOnlyHint: true } },
      { trustedServers: ["github"] },
      "Its server, which is trusted, says that it is read-only (readOnlyHint: true).",
    ],
  ])("%s", (name, more, policy, reason) => {
    expect(classify(name, more, policy).reason).toBe(reason);
  });
});

describe("an entry of a list", () => {
  it.each<[string, string]>([
    ["get_issue", "get_issue"],
    ["GET_Issue", "get_issue"],
    ["get_*", "GET_ISSUE"],
    ["*", "anything"],
    ["*_issue", "get_issue"],
    ["g*_is*e", "get_issue"],
    ["mcp__github__get_issue", "mcp__github__get_issue"],
    ["mcp__github__*", "mcp__GitHub__get_issue"],
    ["get_issue", "mcp__github__get_issue"],
    ["get_*", "github__get_issue"],
    ["a.b(c)", "a.b(c)"],
    ["get.issue", "get_issue"],
    ["github/get_issue", "github__get_issue"],
  ])("%j matches %s", (entry, name) => {
    expect(classify(name, {}, { sideEffectDenylist: ["other", entry] }).rule).toBe("denylist");
    const trustedServers = ["github", "GitHub"];
    expect(classify(name, {}, { trustedServers, readOnlyAllowlist: ["other", entry] }).rule).toBe(
      "allowlist",
    );
  });

  it.each<[string, string]>([
    ["get", "get_issue"],
    ["issue", "get_issue"],
    ["get_issu?", "get_issue"],
    ["[a-z_]*", "get_issue"],
    ["get_*", "mcp__get_it__issue"],
    ["github", "mcp__github__get_issue"],
    ["mcp__gitlab__*", "mcp__github__get_issue"],
    ["", "get_issue"],
  ])("%j does not match %s", (entry, name) => {
    expect(classify(name, {}, { sideEffectDenylist: [entry], readOnlyAllowlist: [entry] })).toEqual(
      classify(name),
    );
  });

  it("matches the full name of a tool whose server is given separately", () => {
    const policy = { sideEffectDenylist: ["mcp__github__get_*"] };
    expect(classify("get_issue", { server: "github" }, policy).rule).toBe("denylist");
    expect(classify("get_issue", { server: "gitlab" }, policy).rule).toBe("untrusted_server");
  });

  it("on both lists forces a side effect", () => {
    const both = { sideEffectDenylist: ["get"], readOnlyAllowlist: ["get"] };
    expect(classify("get", {}, both)).toMatchObject({
      effect: "external",
      recovery: "opaque",
      rule: "denylist",
    });
  });

  it("beats known names and words", () => {
    expect(classify("crawl_parallel", {}, { sideEffectDenylist: ["crawl_*"] }).effect).toBe("external");
    expect(classify("write_local_file", {}, { readOnlyAllowlist: ["write_local_file"] })).toMatchObject({
      effect: "read_only",
      recovery: "repeat",
      known: true,
    });
  });
});

describe("a declaration", () => {
  const effects: SideEffectClass[] = ["external", "memory", "local", "read_only"];
  const policies: ToolPolicy[] = [{}, { sideEffectDenylist: ["*"] }, { readOnlyAllowlist: ["*"] }];
  const hints: ToolAnnotations[] = [
    { readOnlyHint: false },
    { readOnlyHint: true },
    { idempotentHint: false },
  ];

  it.each(effects)("as %s beats lists, names and hints", (declaredEffect) => {
    const recovery = declaredEffect === "read_only" ? "repeat" : "opaque";
    for (const policy of policies)
      for (const annotations of hints)
        for (const name of ["send_email", "get_email", "crawl_parallel", ""])
          expect(
            classify(
              name,
              { declaredEffect, server: "s", annotations },
              { ...policy, trustedServers: ["s"] },
            ),
          ).toMatchObject({ effect: declaredEffect, recovery, rule: "declared", known: true });
  });

  it.each<RecoveryClass>(["repeat", "keyed", "reconcile", "opaque"])(
    "as %s beats every hint",
    (declaredRecovery) => {
      for (const idempotentHint of [true, false])
        for (const name of ["send_email", "get_email"])
          expect(
            classify(
              name,
              { declaredRecovery, server: "s", annotations: { idempotentHint } },
              { trustedServers: ["s"] },
            ).recovery,
          ).toBe(declaredRecovery);
    },
  );

  it("of recovery has no influence on the effect", () => {
    expect(classify("get_email", { declaredRecovery: "keyed" })).toMatchObject({
      effect: "read_only",
      rule: "read_only_word",
    });
  });
});

describe("a tool of an untrusted MCP server", () => {
  const hints: ToolAnnotations = { readOnlyHint: true, idempotentHint: true };

  it.each(["get_data", "list_directory", "write_local_file", "add_memory", "search", "crawl_parallel"])(
    "is external and opaque, although it is called %s",
    (name) => {
      const expected = { effect: "external", recovery: "opaque", known: false, rule: "untrusted_server" };
      for (const annotations of [hints, {}, null]) {
        expect(classify(name, { server: "s", annotations })).toMatchObject(expected);
        expect(classify(`mcp__s__${name}`, { annotations })).toMatchObject(expected);
        expect(classify(`mcp__s__${name}`, { annotations, server: null })).toMatchObject(expected);
        expect(classify(name, { server: "s", annotations }, { trustedServers: ["S"] })).toMatchObject(
          expected,
        );
      }
    },
  );

  it("is known to be external if its name says so: a server may make things stricter", () => {
    expect(classify("send_mail", { server: "s" })).toMatchObject({ effect: "external", known: true });
  });

  it("follows its name once the server is trusted, or the operator's declaration", () => {
    const reads = { effect: "read_only", recovery: "repeat" };
    expect(classify("get_data", { server: "s" }, { trustedServers: ["s"] })).toMatchObject(reads);
    expect(classify("get_data", { server: "s" }, { readOnlyAllowlist: ["s/get_*"] })).toMatchObject(reads);
    expect(classify("get_data", { server: "s", declaredEffect: "read_only" })).toMatchObject(reads);
    expect(classify("get_data", { server: "s" }, { readOnlyAllowlist: ["t/get_*"] }).effect).toBe("external");
  });
});

describe("an entry of the allowlist", () => {
  const of = (server: string, ownName: string) => ({
    server,
    ownName,
    namespace: "mcp",
  });

  it.each([
    "files/read_*",
    "files:read_file",
    "files__read_file",
    "mcp__files__read_file",
    "mcp:files/*",
    "*/read_file",
    "files/READ-file",
  ])("must name its server: %s", (entry) => {
    const policy = { readOnlyAllowlist: [entry] };
    expect(classify("files__read_file", of("files", "read_file"), policy).effect).toBe("read_only");
  });

  it.each(["read_file", "read_*", "*", "mcp:*", "mcp:read_file", "Files/read_file", "files/read", "file*"])(
    "does not count for a tool of an untrusted server if it does not name it: %s",
    (entry) => {
      const policy = { readOnlyAllowlist: [entry] };
      const tool = of("files", "read_file");
      expect(classify("files__read_file", tool, policy).effect).toBe("external");
      // This applies only to entries that loosen: those that forbid are compared with every name.
      const trusting = { ...policy, trustedServers: ["files"] };
      expect(classify("files__read_file", tool, trusting).effect).toBe("read_only");
    },
  );

  it.each(["files/read", "files:read", "files__read", "filesRead", "files/*", "files_read"])(
    "cannot be claimed by a tool of another server: %s",
    (ownName) => {
      const policy = { readOnlyAllowlist: ["files/*", "files:read", "files__read", "files/read"] };
      const name = `evil__${ownName.replaceAll(/\W/g, "_")}`;
      expect(classify(name, of("evil", ownName), policy).effect).toBe("external");
      expect(classify(name, of("evil__files", ownName), policy).effect).toBe("external");
    },
  );

  it("may name a server with separators in its name", () => {
    const policy = { readOnlyAllowlist: ["team/files/read_*", "a__b__get_x"] };
    expect(classify("t__read_file", of("team/files", "read_file"), policy).effect).toBe("read_only");
    expect(classify("a__b__get_x", of("a__b", "get_x"), policy).effect).toBe("read_only");
  });
});

describe("a hint of a server", () => {
  const trust = { trustedServers: ["other", "github"] };
  const hinted = (name: string, annotations: ToolAnnotations, policy: ToolPolicy = {}, server = "github") => {
    const { effect, recovery, rule } = classify(name, { server, annotations }, policy);
    return [effect, recovery, rule];
  };

  it("that a tool is not read-only always counts", () => {
    for (const policy of [trust, { ...trust, sideEffectDenylist: ["other"] }]) {
      const expected = ["external", "opaque", "annotation"];
      expect(hinted("get_issue", { readOnlyHint: false }, policy)).toEqual(expected);
      expect(hinted("crawl_parallel", { readOnlyHint: false }, policy)).toEqual(expected);
      expect(hinted("x", { readOnlyHint: false }, { ...policy, readOnlyAllowlist: ["x"] })).toEqual(expected);
    }
  });

  it("that a tool is not read-only changes nothing about one that is not", () => {
    const ofMemory = ["memory", "opaque", "side_effect_word"];
    expect(hinted("add_memory", { readOnlyHint: false }, trust)).toEqual(ofMemory);
    expect(hinted("thing", { readOnlyHint: false })).toEqual(["external", "opaque", "unknown"]);
  });

  it("that a tool is read-only counts only from a trusted server", () => {
    for (const name of ["create_issue", "thing", "workbench_upload", "get_order"]) {
      expect(hinted(name, { readOnlyHint: true }, trust)).toEqual(["read_only", "repeat", "annotation"]);
      expect(hinted(name, { readOnlyHint: true })[0]).toBe("external");
      expect(hinted(name, { readOnlyHint: true }, trust, "GitHub")[0]).toBe("external");
      expect(classify(name, { annotations: { readOnlyHint: true } }, trust).effect).toBe("external");
      expect(classify(name, { server: null, annotations: { readOnlyHint: true } }, trust).effect).toBe(
        "external",
      );
    }
    expect(hinted("get_issue", { readOnlyHint: true }, trust)).toEqual([
      "read_only",
      "repeat",
      "read_only_word",
    ]);
  });

  it("does not take a tool off the denylist", () => {
    const policy = { ...trust, sideEffectDenylist: ["thing"] };
    expect(hinted("thing", { readOnlyHint: true }, policy)).toEqual(["external", "opaque", "denylist"]);
  });

  it("that a tool is idempotent makes it repeatable, only from a trusted server", () => {
    expect(hinted("set_status", { idempotentHint: true }, trust)).toEqual([
      "external",
      "repeat",
      "side_effect_word",
    ]);
    expect(hinted("set_status", { idempotentHint: true })).toEqual([
      "external",
      "opaque",
      "side_effect_word",
    ]);
    const more = {
      declaredEffect: "external",
      server: "github",
      annotations: { idempotentHint: true },
    } as const;
    expect(classify("x", more, trust).recovery).toBe("repeat");
  });

  it("that a tool is not idempotent always counts", () => {
    const expected = ["read_only", "opaque", "read_only_word"];
    expect(hinted("get_issue", { idempotentHint: false }, trust)).toEqual(expected);
    const list = { readOnlyAllowlist: ["github/get_issue"] };
    expect(hinted("get_issue", { idempotentHint: false }, list)).toEqual([
      "read_only",
      "opaque",
      "allowlist",
    ]);
    expect(hinted("x", { readOnlyHint: true, idempotentHint: false }, trust)).toEqual([
      "read_only",
      "opaque",
      "annotation",
    ]);
  });

  it("counts for the server in an mcp__ name, unless another one is given", () => {
    const annotations = { readOnlyHint: true };
    expect(classify("mcp__github__thing", { annotations }, trust).effect).toBe("read_only");
    expect(classify("mcp__github__thing", { annotations, server: "evil" }, trust).effect).toBe("external");
    expect(classify("mcp__github__thing", { annotations, server: null }, trust).effect).toBe("external");
    expect(classify("github__thing", { annotations }, trust).effect).toBe("external");
  });

  it("may be missing", () => {
    expect(classify("get_issue", { annotations: null })).toEqual(classify("get_issue"));
    expect(classify("get_issue", { annotations: {} })).toEqual(classify("get_issue"));
  });
});
