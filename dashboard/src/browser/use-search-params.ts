import { useMemo } from "react";
import { navigate, useSearch } from "wouter/use-browser-location";
import { changedSearch, type Params, readParams } from "./search-params.ts";

type Change<Values> = (
  change: Partial<Values>,
  /** `replace` for what changes with every key: `back` skips it. */
  options?: { readonly replace?: boolean },
) => void;

/** The parameters of the address, and how to change some of them. Define the parameters outside of the component. */
export function useSearchParams<Values>(params: Params<Values>): readonly [Values, Change<Values>] {
  const search = useSearch();
  const values = useMemo(() => readParams(params, search), [params, search]);
  const change: Change<Values> = (part, options) => {
    navigate(location.pathname + changedSearch(params, location.search, part), options);
  };
  return [values, change];
}
