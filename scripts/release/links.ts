import { posix } from 'node:path';

/** A link of Markdown that is relative: what is in front of it, its path, and its anchor. */
const RELATIVE = /(\]\()(?![a-z][a-z+.-]*:|#|\/)([^)#\s]+)((?:#[^)\s]*)?\))/g;

/** Where the files of a version are read that the package does not have. */
export interface Source {
  /** On GitHub, as `OWNER/NAME`. */
  readonly repository: string;
  readonly version: string;
}

/**
 * A page of the package with the links that leave it made absolute, to the same file of the same version. `page`: its
 * path from the package's root. `isThere`: whether the package has a path.
 */
export function withReachableLinks(
  text: string,
  page: string,
  {
    isThere,
    source: { repository, version },
  }: { readonly isThere: (path: string) => boolean; readonly source: Source },
): string {
  return text.replaceAll(RELATIVE, (whole, before: string, link: string, after: string) => {
    const path = posix.normalize(posix.join(posix.dirname(page), link));
    // A page or a folder: GitHub leads from the one to the other.
    return isThere(path) ? whole : `${before}https://github.com/${repository}/blob/v${version}/${path}${after}`;
  });
}

/** The relative links of a page that lead nowhere. */
export function deadLinks(text: string, page: string, isThere: (path: string) => boolean): ReadonlyArray<string> {
  return [...text.matchAll(RELATIVE)].flatMap(([, , link = '']) =>
    isThere(posix.normalize(posix.join(posix.dirname(page), link))) ? [] : [`${page}: ${link}`],
  );
}
