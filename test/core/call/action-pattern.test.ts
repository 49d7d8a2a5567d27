import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertPatterns, matchesAction } from "../../../src/core/call/action-pattern.ts";
import { ConfigurationError } from "../../../src/core/errors.ts";

const action = (full: string) => {
  const [namespace = "", ...name] = full.split(":");
  return { namespace, name: name.join(":") };
};

describe("a pattern", () => {
  it.each([
    ["send_email", "local:send_email"],
    ["SEND_email", "local:Send_Email"],
    ["local:send_email", "local:send_email"],
    ["Local:Send_Email", "LOCAL:send_email"],
    ["send_*", "local:send_email"],
    ["send_*", "local:send_"],
    ["*_email", "local:send_email"],
    ["*end*mai*", "local:send_email"],
    ["s*l", "local:send_email"],
    ["github:*", "github:read_file"],
    ["*:read_file", "github:read_file"],
    ["git*:*file", "github:read_file"],
    ["*", "github:read_file"],
    ["***", "github:read_file"],
    ["a*a", "local:aa"],
    ["a:b", "local:a:b"],
    ["local:a:*", "local:a:b"],
    ["files.write(x)", "local:files.write(x)"],
    ["[a-z]+$", "local:[a-z]+$"],
    ["\\d?", "local:\\d?"],
    ["send.email", "local:send_email"],
    ["send-*", "local:send_email"],
    [" send_email", "local:send_email"],
    ["send\u200b_email", "local:send_email"],
    ["send_*", "local:se\u200bnd_email"],
    ["send_*", "local:sendEmail"],
    ["sendEmail", "local:send_email"],
    ["ｓｅｎｄ＿email", "local:send_email"],
    ["send_email", "local:send\u2010email"],
    ["git_hub:*", "GitHub:read_file"],
    ["delete_*", "local:_delete_file"],
    ["delete_file", "local:__delete_file_"],
    ["_delete_file", "local:delete_file"],
    ["_*", "local:_private"],
    ["delete~file", "local:delete_file"],
    ["delete_*", "local:delete|file"],
    ["删除~文件", "local:删除_文件"],
    ["github：*", "github:read_file"],
  ])("%s forbids %s", (pattern, full) => {
    expect(matchesAction([pattern], action(full))).toBe(pattern);
  });

  it.each([
    ["send", "local:send_email"],
    ["email", "local:send_email"],
    ["send_email", "local:send_emails"],
    ["send_*", "local:resend_mail"],
    ["*_email", "local:send_email_now"],
    ["a*a", "local:a"],
    ["ab*ba", "local:aba"],
    ["a*b*c", "local:acb"],
    ["*b*b*", "local:abc"],
    ["github:send_email", "local:send_email"],
    ["local", "local:send_email"],
    ["local*", "local:send_email"],
    ["git*", "github:read_file"],
    ["*hub*", "github:read_file"],
    ["github:", "github:read_file"],
    [".*", "local:send_email"],
    ["send_emai?", "local:send_email"],
    ["(send_email|x)", "local:send_email"],
    ["[a-z]+", "local:send"],
    ["send_*", "local:sender"],
    ["_*", "local:send_email"],
    ["删除", "local:文件"],
  ])("%s does not forbid %s", (pattern, full) => {
    expect(matchesAction([pattern], action(full))).toBeNull();
  });

  it.each([
    "delete_*",
    "delete_file",
    "Delete_File",
    "delete-*",
    "deleteFile",
    "*:delete_*",
    "*/delete_file",
    "files:*",
    "files/*",
    "files:delete_file",
    "files/delete_file",
    "FILES/Delete-File",
    "files__delete_file",
    "mcp:*",
    "mcp:delete_*",
    "mcp:files:delete_*",
    "mcp__files__delete_file",
    "*",
  ])("%s forbids delete_file of the MCP server files", (pattern) => {
    const tool = {
      name: "files__delete_file",
      namespace: "mcp",
      server: "files",
      ownName: "delete_file",
    };
    expect(matchesAction([pattern], tool)).toBe(pattern);
    // The model sees a long or unusual name in another form.
    expect(
      matchesAction([pattern], { ...tool, ownName: "delete file", name: "files__delete_f_1a2b3c4d" }),
    ).toBe(pattern);
  });

  it.each(["file", "mcp", "files", "other/delete_file", "files/delete", "mcp*", "read_*"])(
    "%s does not forbid delete_file of the MCP server files",
    (pattern) => {
      const tool = { name: "x1", namespace: "mcp", server: "files", ownName: "delete_file" };
      expect(matchesAction([pattern], tool)).toBeNull();
    },
  );

  it("that is empty forbids nothing, not even a tool without a name", () => {
    expect(matchesAction([""], action("local:send_email"))).toBeNull();
    expect(matchesAction([""], { namespace: "", name: "" })).toBeNull();
    expect(matchesAction([], action("local:send_email"))).toBeNull();
  });

  it("is returned as it was written; the first match counts", () => {
    expect(matchesAction(["x", "Send_*", "send_email"], action("local:send_email"))).toBe("Send_*");
  });

  it("matches like the equivalent regular expression", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "ж"), minLength: 1, maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom("a", "b", "ж"), minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(text, name, (pattern, tool) => {
        const expression = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
        expect(matchesAction([pattern], { namespace: "n", name: tool }) !== null).toBe(expression.test(tool));
      }),
    );
  });

  it("with many wildcards is matched quickly", () => {
    expect(matchesAction([`${"*a".repeat(5000)}b`], action(`local:${"a".repeat(100_000)}`))).toBeNull();
  });
});

describe("assertPatterns", () => {
  it("accepts names and patterns", () => {
    expect(() => assertPatterns(["send_email", "github:*", "*"], "forbiddenActions")).not.toThrow();
    expect(() => assertPatterns([], "forbiddenActions")).not.toThrow();
  });

  it.each([
    ["", "an empty text"],
    ["  ", "an empty text"],
    ["\u200b", "an empty text"],
    [7, "a value of type number"],
    [undefined, "a value of type undefined"],
    [{}, "a value of type object"],
  ])("refuses %j, and says where it is", (pattern, given) => {
    expect(() => assertPatterns(["send_email", pattern], "forbiddenActions")).toThrow(ConfigurationError);
    expect(() => assertPatterns(["send_email", pattern], "forbiddenActions")).toThrow(
      `forbiddenActions[1] is ${given}: give the name of a tool, such as "send_email" or "github:*".`,
    );
  });

  it.each([["send_email"], [null], [undefined], [{ length: 0 }]])(
    "refuses %j, which is not a list",
    (patterns) => {
      expect(() => assertPatterns(patterns, "forbiddenActions")).toThrow(
        "forbiddenActions is not a list: give an array of tool names or patterns.",
      );
    },
  );
});
