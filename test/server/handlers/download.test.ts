import { expect, test } from "vitest";
import { attachment, download } from "../../../src/server/handlers/runs/download.ts";

test.each([
  ["report.pdf", `attachment; filename="report.pdf"; filename*=UTF-8''report.pdf`],
  ["out/../../etc/passwd", `attachment; filename="passwd"; filename*=UTF-8''passwd`],
  ["..", `attachment; filename="download"; filename*=UTF-8''download`],
  ["", `attachment; filename="download"; filename*=UTF-8''download`],
  [
    `a"; filename="b.html`,
    `attachment; filename="a__ filename=_b.html"; filename*=UTF-8''a%22%3B%20filename%3D%22b.html`,
  ],
  ["a\r\nset-cookie: x", `attachment; filename="a__set-cookie_ x"; filename*=UTF-8''a__set-cookie%3A%20x`],
  ["Überblick.txt", `attachment; filename="_berblick.txt"; filename*=UTF-8''%C3%9Cberblick.txt`],
  ["it's (1)*.txt", `attachment; filename="it_s (1)_.txt"; filename*=UTF-8''it%27s%20%281%29%2A.txt`],
  ["\u202Egpj.exe", `attachment; filename="_gpj.exe"; filename*=UTF-8''_gpj.exe`],
])("the file name of %j is safe in a header", (name, header) => {
  expect(attachment(name)).toBe(header);
  expect(new Headers({ "content-disposition": attachment(name) }).get("content-disposition")).toBe(header);
});

test("bytes are never shown by a browser, whatever they are", async () => {
  const response = download(Buffer.from("<script>alert(1)</script>"), "page.html");
  expect(response.headers.get("content-type")).toBe("application/octet-stream");
  expect(response.headers.get("content-disposition")).toMatch(/^attachment;/);
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("content-security-policy")).toContain("sandbox");
  expect(await response.text()).toBe("<script>alert(1)</script>");
});
