import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseToolName, tokensOf, wordSet } from "../../../src/core/call/tool-name.ts";

describe("tokensOf finds the words of", () => {
  it.each<[string, string]>([
    ["send_email", "SEND EMAIL"],
    ["send-email", "SEND EMAIL"],
    ["sendEmail", "SEND EMAIL"],
    ["SendEmail", "SEND EMAIL"],
    ["SEND_EMAIL", "SEND EMAIL"],
    ["send.email", "SEND EMAIL"],
    ["mail:send/now", "MAIL SEND NOW"],
    ["Send email", "SEND EMAIL"],
    ["  send\temail\n", "SEND EMAIL"],
    ["__send___email__", "SEND EMAIL"],
    ["sendemail", "SENDEMAIL"],
    ["SENDEMAIL", "SENDEMAIL"],
    ["send", "SEND"],
    ["HTTPRequest", "HTTP REQUEST"],
    ["getHTTPRequest", "GET HTTP REQUEST"],
    ["sendSMS", "SEND SMS"],
    ["parseJSONBody", "PARSE JSON BODY"],
    ["createAUser", "CREATE A USER"],
    ["listURLs", "LIST URLS"],
    ["getIDsOfUsers", "GET IDS OF USERS"],
    ["getHTTPStatus", "GET HTTP STATUS"],
    ["getOAuthToken", "GET OAUTH TOKEN"],
    ["get_oauth_token", "GET OAUTH TOKEN"],
    ["listClickUpTasks", "LIST CLICKUP TASKS"],
    ["listClickUpdates", "LIST CLICK UPDATES"],
    ["SendGridListTemplates", "SENDGRID LIST TEMPLATES"],
    ["s3Upload", "S3 UPLOAD"],
    ["s3upload", "S3 UPLOAD"],
    ["S3_UPLOAD", "S3 UPLOAD"],
    ["listEC2Instances", "LIST EC2 INSTANCES"],
    ["gmailSendV2", "GMAIL SEND V2"],
    ["send2User", "SEND 2 USER"],
    ["get_or_create2", "GET OR CREATE 2"],
    ["2delete", "2 DELETE"],
    ["POSTGRES_QUERY", "POSTGRES QUERY"],
    ["größeÄndern", "GRÖSSE ÄNDERN"],
  ])("%s", (name, tokens) => {
    expect(tokensOf(name).join(" ")).toBe(tokens);
  });

  it.each(["", "_", "--", " ", "::", "__"])("none in %j", (name) => {
    expect(tokensOf(name)).toEqual([]);
  });

  it("a name in every style, the same ones", () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{2,8}$/), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(words, (lower) => {
        const upper = lower.map((word) => word.toUpperCase());
        const pascal = lower.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
        const camel = [...lower.slice(0, 1), ...pascal.slice(1)];
        for (const glue of ["_", "-", ".", ":", " "]) {
          expect(tokensOf(lower.join(glue))).toEqual(upper);
          expect(tokensOf(upper.join(glue))).toEqual(upper);
        }
        expect(tokensOf(camel.join(""))).toEqual(upper);
        expect(tokensOf(pascal.join(""))).toEqual(upper);
      }),
    );
  });

  it("any text, without losing a letter or a digit", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."aBcDsS19_-. é".split("")) }), (name) => {
        expect(tokensOf(name).join("")).toBe(name.replace(/[^\p{L}\p{N}]/gu, "").toUpperCase());
      }),
    );
  });
});

describe("parseToolName", () => {
  it.each<[string, string | null, string, string[]]>([
    ["mcp__composio__GMAIL_SEND_EMAIL", "composio", "GMAIL_SEND_EMAIL", ["GMAIL", "SEND", "EMAIL"]],
    ["MCP__Composio__GMAIL_SEND_EMAIL", "Composio", "GMAIL_SEND_EMAIL", ["GMAIL", "SEND", "EMAIL"]],
    ["mcp__send-hub__listItems", "send-hub", "listItems", ["LIST", "ITEMS"]],
    ["github__create_issue", "github", "create_issue", ["CREATE", "ISSUE"]],
    ["mcp__a__b__c_d", "a", "b__c_d", ["B", "C", "D"]],
    ["mcp__list_things", "mcp", "list_things", ["LIST", "THINGS"]],
    ["mcp_send_email", null, "mcp_send_email", ["MCP", "SEND", "EMAIL"]],
    ["send_email", null, "send_email", ["SEND", "EMAIL"]],
    ["__send", null, "__send", ["SEND"]],
    ["send__", null, "send__", ["SEND"]],
    ["", null, "", []],
  ])("splits %s", (name, server, tool, tokens) => {
    expect(parseToolName(name)).toEqual({ server, tool, tokens });
  });
});

describe("wordSet", () => {
  it("has each word once, in written order", () => {
    expect([...wordSet("\n  B A\n  C B\n")]).toEqual(["B", "A", "C"]);
    expect(wordSet(" ").size).toBe(0);
  });
});
