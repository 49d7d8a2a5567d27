import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blobReferenceOf, renderBlobReference, renderMissingBlob } from "../../src/core/blob-reference.ts";

describe("blobReferenceOf", () => {
  it("names bytes by their SHA-256 and counts them", () => {
    expect(blobReferenceOf(Buffer.from("abc"))).toEqual({
      blobId: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      size: 3,
    });
  });

  it("counts bytes, not characters", () => {
    expect(blobReferenceOf(Buffer.from("ü😀")).size).toBe(6);
  });

  it("names an empty payload too", () => {
    expect(blobReferenceOf(new Uint8Array()).blobId).toBe(createHash("sha256").digest("hex"));
  });

  it("sees only the part of a buffer that a view shows", () => {
    const whole = Uint8Array.of(1, 2, 3, 4);
    expect(blobReferenceOf(whole.subarray(1, 3))).toEqual(blobReferenceOf(Uint8Array.of(2, 3)));
  });

  it("gives equal bytes the same id and different bytes different ids", () => {
    const bytes = fc.uint8Array({ maxLength: 3, max: 2 });
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(blobReferenceOf(a).blobId === blobReferenceOf(b).blobId).toBe(Buffer.compare(a, b) === 0);
      }),
    );
  });
});

describe("the placeholder of a blob in the history", () => {
  const reference = { blobId: "ab12", size: 20_001 };

  it("is the reference, as the specification spells it", () => {
    expect(renderBlobReference(reference)).toBe("<<FL_BLOB_REF:ab12:size=20001>>");
  });

  it("is a marker if the payload is gone", () => {
    expect(renderMissingBlob(reference)).toBe("<<FL_BLOB_MISSING:ab12:size=20001>>");
  });
});
