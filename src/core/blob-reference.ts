import { hash } from "node:crypto";

/** A payload kept beside the state. The id is the SHA-256 of its bytes, in hex. */
export type BlobReference = { readonly blobId: string; readonly size: number };

export function blobReferenceOf(bytes: Uint8Array): BlobReference {
  return { blobId: hash("sha256", bytes, "hex"), size: bytes.byteLength };
}

/**
 * The text that replaces the payload in the stored history. It is for people to read: which parts are references is
 * recorded separately, so a tool result that merely contains such a text is never mistaken for one.
 */
export function renderBlobReference({ blobId, size }: BlobReference): string {
  return `<<FL_BLOB_REF:${blobId}:size=${size}>>`;
}

/** The text that the model sees where the payload is missing and the step accepts that. */
export function renderMissingBlob({ blobId, size }: BlobReference): string {
  return `<<FL_BLOB_MISSING:${blobId}:size=${size}>>`;
}
