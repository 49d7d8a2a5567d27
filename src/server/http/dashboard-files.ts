import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { HttpProblem } from "../http-problem.ts";
import { PAGE_POLICY } from "./response-headers.ts";

const inflate = promisify(gunzip);

const TYPES: { readonly [ending: string]: string } = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  png: "image/png",
  ico: "image/x-icon",
  woff2: "font/woff2",
  txt: "text/plain; charset=utf-8",
  webmanifest: "application/manifest+json",
};

const PAGE = "index.html";
/** The build gives these files a name with the hash of their contents. */
const HASHED = /^assets\//;

/** The paths of pages, as `dashboard/src/browser/places.ts` has them: a test compares the two. */
const PAGES = /^(?:|(?:runs|waits)(?:\/[^/]*)?|compare|spend|health|workers|schedules|access)\/*$/;

/**
 * The built files of the dashboard. They are listed once, and only what is in the list is read: no path of a request reaches
 * the disk. `index.html` shows the pages, and to a browser also that there is none at a path.
 */
export class DashboardFiles {
  readonly #folder: string;
  /** By the path of their address, whether the file is compressed. */
  readonly #files: ReadonlyMap<string, { readonly isCompressed: boolean }>;

  private constructor(folder: string, files: readonly string[]) {
    this.#folder = folder;
    this.#files = new Map(
      files.map((file) => [file.replace(/\.gz$/, ""), { isCompressed: file.endsWith(".gz") }]),
    );
  }

  /** The files of a folder; null if there is no dashboard in it. */
  static in(folder: string): DashboardFiles | null {
    try {
      const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
      const paths = entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
      const files = new DashboardFiles(folder, paths);
      return files.#files.has(PAGE) ? files : null;
    } catch {
      return null;
    }
  }

  async answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.slice(1);
    const name = this.#files.has(path) ? path : PAGE;
    if (name === PAGE && HASHED.test(path))
      throw new HttpProblem(404, "no_such_file", "There is no such file of the dashboard: reload the page.");
    const isThere = name !== PAGE || path === PAGE || PAGES.test(path);
    if (!isThere && !/\btext\/html\b/i.test(request.headers.get("accept") ?? ""))
      throw new HttpProblem(
        404,
        "no_such_path",
        "There is nothing at this path: see /openapi.json for the API, and / for the dashboard.",
      );
    const { bytes, encoding } = await this.#read(name, request);
    const headers = new Headers({
      "content-type": TYPES[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
      "content-security-policy": PAGE_POLICY,
      "cache-control": HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "accept, accept-encoding",
    });
    if (encoding !== null) headers.set("content-encoding", encoding);
    return new Response(request.method === "HEAD" ? null : bytes, { status: isThere ? 200 : 404, headers });
  }

  async #read(
    name: string,
    request: Request,
  ): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly encoding: string | null }> {
    const { isCompressed } = this.#files.get(name) ?? { isCompressed: false };
    const file = new Uint8Array(readFileSync(join(this.#folder, isCompressed ? `${name}.gz` : name)));
    if (!isCompressed) return { bytes: file, encoding: null };
    if (acceptsGzip(request.headers.get("accept-encoding"))) return { bytes: file, encoding: "gzip" };
    return { bytes: new Uint8Array(await inflate(file)), encoding: null };
  }
}

/** True if the client takes gzip: it names it, or everything, and not with the weight 0. */
function acceptsGzip(accepted: string | null): boolean {
  const weights = new Map(
    (accepted ?? "").split(",").map((each) => {
      const [name = "", weight = "q=1"] = each
        .toLowerCase()
        .split(";")
        .map((part) => part.trim());
      return [name, Number(weight.replace(/^q=/, ""))];
    }),
  );
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0;
}
