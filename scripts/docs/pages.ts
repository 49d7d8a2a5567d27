// Every page that is made from the types, or from the route table.

import { apiPages } from "./api-pages.ts";
import { configurationPage } from "./configuration-page.ts";
import { packageEntries } from "./entries.ts";
import { httpApiPage } from "./http-api-page.ts";

/** The pages by path, from a built package: a folder with `package.json` and `dist`. */
export function docsPages(folder: string): ReadonlyMap<string, string> {
  const entries = packageEntries(folder);
  return new Map([
    ["docs/configuration.md", configurationPage(entries)],
    ["docs/http-api.md", httpApiPage()],
    ...apiPages(entries),
  ]);
}
