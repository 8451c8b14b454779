import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Marked, type Token } from 'marked'
import { createLibrary, readDocsFile } from './library.ts'
import { resolveLink } from './links.ts'
import { DOCS_FILES } from './pages.ts'
import { servedMarkdown } from './served-markdown.ts'

const URL = 'https://pay.example'
const pages = await createLibrary(() => URL).loadAll()
const served = (text: string) => servedMarkdown('docs/guides/quickstart.md', text, URL)

function linksIn(markdown: string): string[] {
  const marked = new Marked()
  const links: string[] = []
  marked.walkTokens(marked.lexer(markdown), (token: Token) => {
    if (token.type === 'link' || token.type === 'image') links.push(String(token.href))
  })
  return links
}

describe('the markdown that the site serves', () => {
  it('does not say which source file a page is generated from', () => {
    assert.deepEqual(
      pages
        .filter(({ markdown, rendered }) => /^(?:<p>)?Written from/m.test(`${markdown}\n${rendered.html}`))
        .map(({ slug }) => slug),
      [],
    )
  })

  it('has in the guides no link to a file that the site does not serve', async () => {
    const guides = pages.filter(({ file }) => file.startsWith('docs/guides/'))
    assert.ok(guides.length > 15)
    const lost = await Promise.all(
      guides.map(async ({ file }) =>
        linksIn(String(await readDocsFile(file)))
          .filter((href) => resolveLink(file, href) === null)
          .map((href) => `${file}: ${href}`),
      ),
    )
    assert.deepEqual(lost.flat(), [])
  })

  it('has on every page only links that lead to a page, heading or file of the site, or to another server', () => {
    const targets = new Set([
      ...DOCS_FILES.map(({ name }) => `${URL}/docs/files/${name}`),
      ...['/docs/api', '/openapi.json', '/llms.txt'].map((path) => `${URL}${path}`),
      ...pages.flatMap(({ slug, rendered }) => [
        `${URL}/docs/${slug}.md`,
        ...rendered.headings.map(({ id }) => `${URL}/docs/${slug}.md#${id}`),
      ]),
    ])
    const links = pages.flatMap(({ slug, markdown }) =>
      linksIn(markdown).map((link) => (link.startsWith('#') ? `${URL}/docs/${slug}.md${link}` : link)),
    )
    assert.ok(links.length > 100)
    const isOwn = (link: string) => !/^(?:https?|mailto):/.test(link) || link.startsWith(URL)
    assert.deepEqual(
      links.filter((link) => isOwn(link) && !targets.has(link)),
      [],
    )
  })

  it('names the address of this service in the samples of every page', () => {
    for (const { slug, markdown } of pages)
      assert.doesNotMatch(markdown, /127\.0\.0\.1:8080|"\$COWRY_URL/, slug)
  })

  it('links to the markdown of pages, and to the title where the link shows a file name', () => {
    assert.equal(served('[a `b`](../generated/tools.md#x)'), `[a \`b\`](${URL}/docs/tools.md#x)`)
    assert.equal(served('[tools.md](../generated/tools.md)'), `[Tools for agents](${URL}/docs/tools.md)`)
    assert.equal(served('[API](/docs/api), [home](#top)'), `[API](${URL}/docs/api), [home](#top)`)
    assert.equal(served('![Page](../screens/checkout.webp)'), `![Page](${URL}/docs/files/checkout.webp)`)
  })

  it('shows files of the repository that are not on the site as text', () => {
    assert.equal(served('See [../../Dockerfile](../../Dockerfile).'), 'See Dockerfile.')
  })

  it('keeps links in code as they are', () => {
    for (const text of ['`[a](webhooks.md)`', '```md\n[a](webhooks.md)\n```', '``x ` [a](webhooks.md)``'])
      assert.equal(served(text), text)
  })
})
