import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RecoveryClass, SideEffectClass } from "../../../src/core/call/tool-call-decision.ts";
import {
  ACTION_WORDS,
  type Classification,
  type ClassifiedTool,
  classifyTool,
  NOUN_OR_ACTION_WORDS,
  OPEN_ENDED_WORDS,
  READ_ONLY_WORDS,
  type ToolAnnotations,
  type ToolPolicy,
} from "../../../src/core/call/tool-classification.ts";
import { tokensOf } from "../../../src/core/call/tool-name.ts";

type Rule = Classification["rule"];

function classify(name: string, more: Partial<ClassifiedTool> = {}, policy: ToolPolicy = {}): Classification {
  return classifyTool({ name, declaredEffect: null, declaredRecovery: null, ...more }, policy);
}

/** Effect, rule, names. */
const NAMES: readonly (readonly [SideEffectClass, Rule, string])[] = [
  ["external", "known_name", "workbench_upload upload_to_composio mcp__local_toolkit__workbench_upload"],
  ["local", "known_name", "write_local_file compress_files finalize_research generate_image preview_image"],
  ["local", "known_name", "writeLocalFile WRITE_LOCAL_FILE"],
  ["memory", "known_name", "core_memory_replace core_memory_append archival_memory_insert"],
  ["read_only", "known_name", "read_local_file read_research_files list_directory archival_memory_search"],
  ["read_only", "known_name", "get_core_memory_blocks describe_image crawl_parallel toolkit__crawl_parallel"],

  ["external", "side_effect_word", "mcp__composio__GMAIL_SEND_EMAIL GMAIL_SEND_EMAIL sendSMS send2User"],
  ["external", "side_effect_word", "getOrCreateUser get_or_create2 find_and_replace fetchAndDelete"],
  [
    "external",
    "side_effect_word",
    "GITHUB_CREATE_AN_ISSUE SLACK_UPDATE_MESSAGE TRELLO_ADD_CARD mark_as_read",
  ],
  ["external", "side_effect_word", "s3Upload uploadToS3 drive.upload POST_TWEET reply_to_thread add_comment"],
  [
    "external",
    "side_effect_word",
    "merge_pull_request archive-thread invite_member LABEL_EMAIL forward_email",
  ],
  ["external", "side_effect_word", "publish_page move_card assign_issue patch_record remove_user put_object"],
  [
    "external",
    "side_effect_word",
    "order_pizza book_flight charge_card refund_payment transferMoney pay_invoice",
  ],
  [
    "external",
    "side_effect_word",
    "buy_stock start_server stop_server restart_server deploy_app trigger_build",
  ],
  ["external", "side_effect_word", "submit_form approve_expense grant_access revoke_access set_status"],
  [
    "external",
    "side_effect_word",
    "cancel_order execute_order run_and_delete rename_branch copy_sheet share_view",
  ],
  ["external", "side_effect_word", "insert_row append_row modify_event edit_message save_report"],
  ["external", "side_effect_word", "create_email_draft clear_search_history unsubscribe_list"],
  ["external", "side_effect_word", "create__list update__view send_x__list_directory"],

  [
    "local",
    "side_effect_word",
    "write_file save_local_file edit_file create_directory append_to_file write_files",
  ],
  ["local", "side_effect_word", "delete_file move_file saveJsonFile"],
  ["external", "side_effect_word", "upload_file send_file share_file create_folder GITHUB_CREATE_FILE"],
  ["external", "side_effect_word", "mcp__github__create_or_update_file github__write_file save_local_report"],
  ["external", "side_effect_word", "delete_directory_user update_local_business"],

  ["memory", "side_effect_word", "add_memory memory_store updateCoreMemory delete_memories"],
  ["memory", "side_effect_word", "set_core_memory_block append_to_long_term_memory"],
  ["external", "side_effect_word", "update_memory_limit send_memory_report save_memory_file publish_memory"],
  ["external", "side_effect_word", "block_user_memory create_entities"],

  ["read_only", "read_only_word", "SPREADSHEET_READ BUDGET_LIST get_email list_emails search_web fetch_page"],
  ["read_only", "read_only_word", "retrieve_document getOAuthToken listURLs GMAIL_LIST_THREADS search"],
  ["read_only", "read_only_word", "github__get_issue"],
  [
    "read_only",
    "read_only_word",
    "list_orders get_deleted_items list_sent_emails list_open_issues get_message",
  ],
  ["read_only", "read_only_word", "find_user lookup_word describe_table grep glob SendGridListTemplates"],
  ["read_only", "read_only_word", "view_file count_rows search_memory read_file getS3Object"],

  [
    "external",
    "unknown",
    "get_order get_comment list_post_likes get_merge_request get_upload_url search_and_book",
  ],
  ["external", "unknown", "get_run run_search get_start_time view_order close_list"],
  ["external", "unknown", "POSTGRES_QUERY read_query execute_sql run_tests run_command bash list_sql_tables"],
  ["external", "unknown", "MARKDOWN_EXPORT export_list download_file click_search_button make_list"],
  ["external", "unknown", "refresh_view GITHUB_VIEW_ISSUE check_in verify_email show_notification sendemail"],
  ["external", "unknown", "listemails forget POSTGRES BUDGET SPREADSHEET email_user brave_search__summarize"],
  ["external", "unknown", "mcp__send-hub__items mcp__get__thing x 发送邮件 --"],
];
const rows = NAMES.flatMap(([effect, rule, names]) =>
  names.split(" ").map((name) => [name, effect, rule] as const),
);

describe("a name alone classifies", () => {
  it.each(rows)("%s as %s, by %s", (name, effect, rule) => {
    const known = rule !== "unknown";
    const recovery = effect === "read_only" ? "repeat" : "opaque";
    expect(classify(name)).toEqual({ effect, rule, known, recovery, reason: expect.any(String) });
  });

  it("an empty name as external", () => {
    expect(classify("")).toMatchObject({ effect: "external", rule: "unknown", known: false });
  });

  it("more than 150 distinct names in this table", () => {
    expect(rows.length).toBeGreaterThan(150);
    expect(new Set(rows.map(([name]) => name)).size).toBe(rows.length);
  });
});

describe("the part before a __", () => {
  it("may be a verb, unless it is known to be the server", () => {
    expect(classify("merge__get_issue")).toMatchObject({ effect: "external", rule: "unknown" });
    expect(classify("merge__get_issue", { server: "other" })).toMatchObject({
      effect: "external",
      rule: "unknown",
    });
    const trust = { trustedServers: ["merge"] };
    expect(classify("merge__get_issue", { server: "merge" }, trust).effect).toBe("read_only");
    expect(classify("mcp__merge__get_issue", {}, trust).effect).toBe("read_only");
  });

  it("never makes a tool read-only", () => {
    expect(classify("search__thing").rule).toBe("unknown");
    expect(classify("mcp__search__thing").rule).toBe("unknown");
  });
});

describe("the words", () => {
  const lists = { ACTION_WORDS, NOUN_OR_ACTION_WORDS, OPEN_ENDED_WORDS, READ_ONLY_WORDS };

  it("include the basic verbs of both kinds", () => {
    const acts =
      "SEND CREATE UPDATE DELETE PATCH POST MERGE UPLOAD INVITE PUBLISH COMMENT REPLY FORWARD ARCHIVE";
    for (const word of `${acts} LABEL MOVE MARK ASSIGN`.split(" ")) {
      expect([word, classify(`GMAIL_${word}_THING`).rule]).toEqual([word, "side_effect_word"]);
      expect([word, classify(`GET_${word}_THING`).effect]).toEqual([word, "external"]);
    }
    for (const word of "GET LIST SEARCH READ FETCH RETRIEVE".split(" ")) {
      expect([word, classify(`GMAIL_${word}_THING`).rule]).toEqual([word, "read_only_word"]);
    }
  });

  it("are in one list each, and are single words of a name", () => {
    const all = Object.values(lists).flatMap((list) => [...list]);
    expect(new Set(all).size).toBe(all.length);
    expect(all.filter((word) => tokensOf(word).join() !== word)).toEqual([]);
  });

  it.each([...ACTION_WORDS])("%s marks an action, whatever is beside it", (word) => {
    expect(classify(`do_${word}_it`)).toMatchObject({ effect: "external", rule: "side_effect_word" });
    expect(classify(`get_${word}_it`)).toMatchObject({ effect: "external", rule: "side_effect_word" });
  });

  it.each([...NOUN_OR_ACTION_WORDS])("%s marks an action, and makes a reading tool unknown", (word) => {
    expect(classify(`do_${word}_it`)).toMatchObject({ effect: "external", rule: "side_effect_word" });
    expect(classify(`get_${word}_it`)).toMatchObject({ effect: "external", rule: "unknown" });
  });

  it.each([...OPEN_ENDED_WORDS])("%s decides nothing, but does not count as reading", (word) => {
    expect(classify(`do_${word}_it`)).toMatchObject({ effect: "external", rule: "unknown" });
    expect(classify(`get_${word}_it`)).toMatchObject({ effect: "external", rule: "unknown" });
  });

  it.each([...READ_ONLY_WORDS])("%s marks reading", (word) => {
    expect(classify(`do_${word}_it`)).toMatchObject({ effect: "read_only", rule: "read_only_word" });
  });
});

describe("every name", () => {
  const acting = [...ACTION_WORDS, ...NOUN_OR_ACTION_WORDS, ...OPEN_ENDED_WORDS];
  const vocabulary = [
    ...acting,
    ...READ_ONLY_WORDS,
    ..."FILE MEMORY LOCAL USER S3 VIEW COUNT GMAIL TO".split(" "),
  ];
  const someWords = fc.array(fc.constantFrom(...vocabulary), { minLength: 1, maxLength: 5 });
  const someName = fc.oneof(
    fc.constantFrom(...rows.map(([name]) => name)),
    fc.string(),
    someWords.map((list) => list.join("_")),
  );

  it("is never read-only after adding a word that may act", () => {
    fc.assert(
      fc.property(
        someName,
        fc.constantFrom(...acting),
        fc.constantFrom("_", "-", ".", " "),
        (name, word, glue) => {
          expect(classify(`${name}${glue}${word}`).effect).not.toBe("read_only");
          expect(classify(`${name}${glue}${word.toLowerCase()}2`).effect).not.toBe("read_only");
          expect(classify(`${word.toLowerCase()}${glue}${name}`).effect).not.toBe("read_only");
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("has the same class in every style of writing", () => {
    fc.assert(
      fc.property(someWords, (list) => {
        const lower = list.map((word) => word.toLowerCase());
        const pascal = lower.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
        const camel = pascal.charAt(0).toLowerCase() + pascal.slice(1);
        const expected = classify(list.join("_"));
        for (const name of [lower.join("_"), lower.join("-"), lower.join("."), pascal, camel])
          expect(classify(name)).toEqual(expected);
      }),
    );
  });

  it("is external if it is not known", () => {
    fc.assert(
      fc.property(someName, (name) => {
        const { known, effect, rule, reason } = classify(name);
        expect(known).toBe(rule !== "unknown" && rule !== "untrusted_server");
        if (!known) expect(effect).toBe("external");
        expect(reason).toMatch(/^\S.*\.$/s);
      }),
    );
  });
});

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
