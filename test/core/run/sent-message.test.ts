import { describe, expect, it } from "vitest";
import { blobReferenceOf } from "../../../src/core/blob-reference.ts";
import { ConfigurationError, MessageRefusedError } from "../../../src/core/errors.ts";
import { filesIn, storedParts, writtenIn } from "../../../src/core/message.ts";
import {
  assertStoredText,
  MAX_MESSAGE_BYTES,
  MAX_TEXT_BYTES,
  readUserMessage,
  readUserText,
} from "../../../src/core/run/sent-message.ts";

const CAT = Buffer.from("a cat, in bytes");

function file(over: object = {}): object {
  return { type: "file", mediaType: "image/png", data: CAT, ...over };
}

describe("a message with files", () => {
  it.each([
    ["bytes", CAT],
    ["a Uint8Array", new Uint8Array(CAT)],
    ["base64", CAT.toString("base64")],
    ["base64 without padding", CAT.toString("base64").replace(/=+$/, "")],
    ["a data: URL", `data:image/png;base64,${CAT.toString("base64")}`],
  ])("is stored as a reference to its bytes, given as %s", (_what, data) => {
    const { body, files } = readUserMessage({ parts: [file({ data, filename: "cat.png" })] });
    const reference = { type: "file", mediaType: "image/png", filename: "cat.png", ...blobReferenceOf(CAT) };
    expect(body).toEqual({ parts: [reference] });
    expect(files.map(({ blobId, bytes }) => [blobId, Buffer.from(bytes).toString()])).toEqual([
      [reference.blobId, CAT.toString()],
    ]);
    assertStoredText(body, files);
  });

  it("has equal bytes once, and its texts in order", () => {
    const { body, files } = readUserMessage({
      parts: [
        { type: "text", text: "One." },
        file(),
        { type: "text", text: "Two." },
        file({ mediaType: "IMAGE/JPEG" }),
      ],
    });
    expect(files).toHaveLength(1);
    expect(filesIn(body).map(({ mediaType }) => mediaType)).toEqual(["image/png", "image/jpeg"]);
    expect(writtenIn(body)).toBe("One.\n\nTwo.");
  });

  it.each([
    ["no parts", { parts: [] }, /at least one text or file/],
    ["parts that are no list", { parts: "Hi." }, /at least one text or file/],
    ["an option of another library", { parts: [file()], files: [] }, /has no "files": did you mean parts\?/],
    ["an unknown part", { parts: [{ type: "image", image: CAT }] }, /Part 1 of the message has type "image"/],
    ["an empty text", { parts: [{ type: "text", text: "" }] }, /Part 1 of the message has no text/],
    ["a blank text", { parts: [{ type: "text", text: " \n" }, file()] }, /Part 1 of the message has no text/],
    ["no type", { parts: [file({ mediaType: undefined })] }, /has mediaType undefined: give the whole type/],
    ["half a type", { parts: [file({ mediaType: "image" })] }, /has mediaType "image"/],
    ["a type with a wildcard", { parts: [file({ mediaType: "image/*" })] }, /has mediaType "image\/\*"/],
    [
      "a type with parameters",
      { parts: [file({ mediaType: "text/plain; charset=utf-8" })] },
      /without parameters, such as "image\/png"/,
    ],
    ["a path", { parts: [file({ filename: "../../etc/passwd" })] }, /without a path/],
    ["a path of Windows", { parts: [file({ filename: "C:\\cat.png" })] }, /without a path/],
    ["a name with a line break", { parts: [file({ filename: "a\nb.png" })] }, /without a path/],
    [
      "an empty file",
      { parts: [file({ data: new Uint8Array() })] },
      /Part 1 of the message is an empty file/,
    ],
    ["an empty base64", { parts: [file({ data: "" })] }, /is an empty file/],
    ["no base64", { parts: [file({ data: "no base64!" })] }, /data that is no base64/],
    ["base64 with a line break", { parts: [file({ data: "AAAA\nAAAA" })] }, /data that is no base64/],
    ["numbers", { parts: [file({ data: [1, 2, 3] })] }, /give a Uint8Array, base64 or a data: URL/],
    [
      "an address",
      { parts: [file({ data: "https://x.org/cat.png" })] },
      /downloads nothing that people send/,
    ],
    ["a URL", { parts: [file({ data: new URL("http://x.org/a") })] }, /downloads nothing that people send/],
    ["a file of this machine", { parts: [file({ data: "file:///etc/passwd" })] }, /downloads nothing/],
    [
      "the field url",
      { parts: [{ type: "file", url: "https://x.org/a" }] },
      /has no "url": did you mean data/,
    ],
    ["a data: URL of a text", { parts: [file({ data: "data:image/png,abc" })] }, /that is not base64/],
    [
      "a data: URL of another type",
      { parts: [file({ data: "data:image/gif;base64,AAAA" })] },
      /its data: URL has "image\/gif": give the same type/,
    ],
  ])("is refused with %s", (_what, given, message) => {
    expect(() => readUserMessage(given)).toThrow(ConfigurationError);
    expect(() => readUserMessage(given)).toThrow(message);
  });

  it("is refused if its files are too large together, or its parts too many", () => {
    const half = MAX_MESSAGE_BYTES / 2;
    const parts = [new Uint8Array(half), new Uint8Array(half + 1)].map((data) => file({ data }));
    expect(() => readUserMessage({ parts })).toThrow(
      /The files of the message have 20\.1 MB, and at most 20 MB are taken: send smaller ones\./,
    );
    expect(() => readUserMessage({ parts: [file({ data: "A".repeat(MAX_MESSAGE_BYTES * 2 + 1) })] })).toThrow(
      MessageRefusedError,
    );
    const many = Array.from({ length: 33 }, () => ({ type: "text", text: "." }));
    expect(() => readUserMessage({ parts: many })).toThrow(/has 33 parts, and at most 32 are taken/);
  });
});

describe("the texts of a message", () => {
  const parts = (...texts: readonly string[]) => ({ parts: texts.map((text) => ({ type: "text", text })) });
  const most = "é".repeat(MAX_TEXT_BYTES / 2);

  it("have at most 1 MiB together, in each form, and when they are stored", () => {
    const tooLarge =
      "The texts of the message have 1,048,577 bytes, and at most 1,048,576 are taken: send a shorter text, or the long one as a file.";
    expect(readUserText(most)).toBe(most);
    readUserMessage(parts(most));
    assertStoredText(most, []);
    expect(() => readUserText(`${most}x`)).toThrow(tooLarge);
    expect(() => readUserMessage(parts(most, "x"))).toThrow(tooLarge);
    expect(() => assertStoredText(`${most}x`, [])).toThrow(tooLarge);
    expect(() => assertStoredText(parts(most, "x"), [])).toThrow(MessageRefusedError);
  });

  it.each(["", " ", "\n\t\u00a0"])("are not blank: %j", (text) => {
    expect(() => readUserText(text)).toThrow(/has an empty text: write something, or send files alone\./);
    expect(() => readUserMessage(parts("Hi.", text))).toThrow(/Part 2 of the message has no text/);
    expect(() => assertStoredText(text, [])).toThrow(MessageRefusedError);
    expect(() => assertStoredText(parts("Hi.", text), [])).toThrow(MessageRefusedError);
  });
});

describe("a stored text", () => {
  it("has parts only if each of them is one", () => {
    const [reference] = readUserMessage({ parts: [file()] }).body.parts;
    expect(storedParts("Hi.")).toBeNull();
    expect(storedParts({ parts: [{ ...reference, blobId: "../x" }] })).toBeNull();
    expect(storedParts({ parts: [{ ...reference, size: "1" }] })).toBeNull();
    expect(storedParts({ parts: ["text"] })).toBeNull();
    expect(filesIn({ amount: 7 })).toEqual([]);
  });
});
