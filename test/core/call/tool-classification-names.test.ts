// What a tool's name alone says about its effect.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SideEffectClass } from "../../../src/core/call/tool-call-decision.ts";
import {
  ACTION_WORDS,
  type Classification,
  type ClassifiedTool,
  classifyTool,
  NOUN_OR_ACTION_WORDS,
  OPEN_ENDED_WORDS,
  READ_ONLY_WORDS,
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
