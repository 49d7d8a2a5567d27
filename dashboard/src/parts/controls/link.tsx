import type { ComponentProps, MouseEvent, ReactNode } from "react";
import { navigate } from "wouter/use-browser-location";

/** A link to another page of the dashboard, which loads nothing again. New tabs and the like are the browser's. */
export function Link({ href, onClick, ...rest }: ComponentProps<"a"> & { readonly href: string }): ReactNode {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    const isPlain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!isPlain || event.defaultPrevented) return;
    event.preventDefault();
    navigate(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}
