import { describe, expect, it } from "vitest";
import type { Message, SaidMessage, UserTextPart } from "../../../src/core/message.ts";
import { fileTitle, isTextType, withNewestFiles } from "../../../src/core/usage/said-file.ts";

it("a file is named by its name and its type", () => {
  expect(fileTitle({ filename: "a cat.png", mediaType: "image/png" })).toBe('file "a cat.png" (image/png)');
  expect(fileTitle({ mediaType: "image/png" })).toBe("a file of type image/png");
});

describe("the files of a request", () => {
  const file = (name: string, size: number) =>
    ({ type: "file", mediaType: "image/png", filename: name, size, blobId: "0".repeat(64) }) as const;
  const said = (...content: Exclude<SaidMessage["content"], string>): Message => ({ role: "user", content });
  const hello: Message = { role: "user", content: "Hello." };

  it("are the newest that fit, and the names of all before them", () => {
    const messages = [
      said(file("one", 1)),
      hello,
      said({ type: "text", text: "Look." }, file("two", 5), file("three", 4)),
      said(file("four", 6)),
    ];
    const name = (of: string) => ({
      type: "text",
      text: `[Left out: file "${of}" (image/png). Newer files fill the request.]`,
    });
    const shown = withNewestFiles(messages, 10);
    expect(shown).toEqual([
      said(name("one") as UserTextPart),
      hello,
      said({ type: "text", text: "Look." }, name("two") as UserTextPart, file("three", 4)),
      said(file("four", 6)),
    ]);
    expect([shown[1], shown[3]].map((each, i) => each === messages[2 * i + 1])).toEqual([true, true]);
  });

  it("are all of them if they fit, and the messages stay what they were", () => {
    const messages = [said(file("one", 4)), hello, said(file("two", 6))];
    expect(withNewestFiles(messages, 10)).toBe(messages);
  });
});

describe("the type of a text file", () => {
  it.each([
    "text/plain",
    "application/json",
    "application/vnd.api+json",
    "application/xml",
    "image/svg+xml",
    "application/yaml",
    "application/csv",
    "application/javascript",
  ])("may be %s", (type) => {
    expect(isTextType(type)).toBe(true);
  });

  it.each([
    "image/png",
    "application/pdf",
    "application/octet-stream",
    "application/x-jsonish",
    "application/zip",
  ])("is not %s", (type) => {
    expect(isTextType(type)).toBe(false);
  });
});
