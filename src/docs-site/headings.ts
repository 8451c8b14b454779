// The anchors of headings, by the rule of GitHub, so that a link works in the repository and on the site.

/** Makes the anchor of each heading of one page; a repeated heading gets a number. */
export function createAnchors(): (text: string) => string {
  const used = new Map<string, number>()
  return (text) => {
    const anchor = text
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = used.get(anchor) ?? 0
    used.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  }
}
