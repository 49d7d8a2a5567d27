/** How much of a page's title is read. Far more than is shown of it: it is cut again after secrets are hidden. */
export const MOST_TITLE_READ = 20_000;
