import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { PAYMENT_MOVES, PAYMENT_STATUSES } from '../payments/states.ts'
import { createLibrary } from './library.ts'
import { renderMarkdown } from './markdown.ts'
import { DOCS_FILES, DOCS_PAGES } from './pages.ts'
import { arrowsOf, drawStateDiagram, isStateDiagram } from './state-diagram.ts'

const URL_OF_SERVICE = 'https://pay.example'
const pages = await createLibrary(() => URL_OF_SERVICE).loadAll()
const render = (text: string) => renderMarkdown('docs/page.md', text, { url: URL_OF_SERVICE })
const fence = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\`\n\n`

describe('a markdown page on the documentation site', () => {
  it('shows HTML of the markdown as text', () => {
    const { html } = render(
      '# T\n\n<script>alert(1)</script>\n\nText <img src=x onerror=alert(1)> `<b>`\n\n<!-- note -->\n',
    )
    assert.doesNotMatch(html, /<(?:script|img|b)\b|note/)
    assert.match(html, /&lt;script&gt;/)
    assert.match(html, /<code>&lt;b&gt;<\/code>/)
  })

  it('has no input and no header cell without a name', () => {
    const { html } = render('# T\n\n- [ ] open\n- [x] done\n\n|  | B |\n| --- | --- |\n| a | b |\n')
    assert.doesNotMatch(html, /<input|<th><\/th>/)
    assert.match(html, /☐ open/)
    assert.match(html, /☑ done/)
    assert.match(html, /<td><\/td>\s*<th>B<\/th>/)
  })

  it('names the column in each cell of a table with several, and escapes the name', () => {
    const { html } = render('# T\n\n| A | `B` "x" |  |\n| --- | --- | --- |\n| 1 | `2` |  |\n')
    assert.match(html, /<th role="columnheader">A<\/th>.*<td role="cell"><\/td><\/tr><\/thead>/)
    const row = '<td role="cell">1</td><td role="cell" data-label="B &quot;x&quot;"><code>2</code></td>'
    assert.ok(html.includes(`${row}<td role="cell"></td></tr>`), html)
  })

  it('gives headings the anchors of GitHub, and a repeated heading another one', () => {
    const { headings, html, title } = render('# T\n\n## What is `sent`, and why?\n\n## Same\n\n## Same\n')
    assert.equal(title, 'T')
    assert.deepEqual(
      headings.map(({ id }) => id),
      ['what-is-sent-and-why', 'same', 'same-1'],
    )
    assert.match(html, /<h2 id="same-1"><a href="#same-1">Same<\/a><\/h2>/)
  })

  it('groups consecutive samples in different languages, and leaves others alone', () => {
    const samples =
      fence('bash', 'curl x') + fence('ts', 'x()') + fence('python', 'x()') + fence('php', 'x();')
    const { html } = render(
      `${samples}Text.\n\n${fence('ts', 'y()')}Text.\n\n${fence('text', 'a')}${fence('json', '{}')}`,
    )
    assert.equal(html.match(/<div class="tabs">/g)?.length, 1)
    const group = html.slice(html.indexOf('<div class="tabs">'), html.indexOf('<p>Text.'))
    const captions = [...group.matchAll(/<p class="caption">(.*?)<\/p>/g)].map(([, label]) => label)
    assert.deepEqual(captions, ['curl', 'TypeScript', 'Python', 'PHP'])
    const twoSteps = render(
      fence('bash', 'curl 1') + fence('ts', '1') + fence('bash', 'curl 2') + fence('ts', '2'),
    )
    assert.equal(twoSteps.html.match(/<div class="tabs">/g)?.length, 2)
  })

  it('fills samples with the address of the service, and marks where the key of the reader goes', () => {
    const { html } = render(
      fence('bash', 'curl "$COWRY_URL/api" -H "x-api-key: $COWRY_API_KEY"') +
        fence('sh', 'export COWRY_URL="http://localhost"\nexport COWRY_API_KEY="cowry_test_…"'),
    )
    assert.ok(html.includes(`${URL_OF_SERVICE}/api`))
    assert.ok(html.includes(`export COWRY_URL=${URL_OF_SERVICE}\n`), html)
    assert.ok(html.includes('x-api-key: <span data-fill="key">$COWRY_API_KEY</span>'))
    assert.ok(html.includes('export COWRY_API_KEY=<span data-fill="key">cowry_test_…</span>'))
  })

  it('links to pages of the site by their address and title, and shows other files as text', () => {
    const { html, links } = render(
      '[settings](running-in-production.md#secrets), [generated/errors.md](generated/errors.md), [code](../src/app.ts)',
    )
    assert.deepEqual(links.length, 2)
    assert.match(html, /<a href="\/docs\/errors">Errors<\/a>/)
    assert.match(html, /<span class="file">code<\/span>/)
  })
})

describe('the pages of the documentation site', () => {
  it('has one address for each page and each file', () => {
    assert.equal(new Set(DOCS_PAGES.map(({ slug }) => slug)).size, DOCS_PAGES.length)
    assert.equal(new Set(DOCS_PAGES.map(({ file }) => file)).size, DOCS_PAGES.length)
    const taken = ['api', 'search', 'search.json', 'files', 'assets', 'reference.js']
    assert.deepEqual(
      DOCS_PAGES.filter(({ slug }) => taken.includes(slug) || !/^[a-z0-9-]+$/.test(slug)),
      [],
    )
    for (const { file } of DOCS_FILES) assert.ok(existsSync(new URL(`../../${file}`, import.meta.url)), file)
  })

  it('has no dead link, and no link to a missing heading', () => {
    const anchors = new Map(
      pages.map(({ slug, rendered }) => [`/docs/${slug}`, rendered.headings.map(({ id }) => id)]),
    )
    const others = ['/docs', '/docs/api', '/openapi.json', '/llms.txt', '/']
    const isDead = (slug: string, link: string) => {
      if (/^(?:https?|mailto):/.test(link)) return false
      const [path = '', anchor] = (link.startsWith('#') ? `/docs/${slug}${link}` : link).split('#', 2)
      if (others.includes(path) || DOCS_FILES.some(({ name }) => path === `/docs/files/${name}`)) return false
      const known = anchors.get(path)
      return known === undefined || (anchor !== undefined && !known.includes(anchor))
    }
    assert.ok(pages.flatMap(({ rendered }) => rendered.links).length > 50, 'the links were found')
    assert.deepEqual(
      pages.flatMap(({ slug, file, rendered }) =>
        rendered.links.filter((link) => isDead(slug, link)).map((link) => `${file} → ${link}`),
      ),
      [],
    )
  })

  it('has a title and a first heading on every page', () => {
    for (const { file, rendered } of pages) {
      assert.notEqual(rendered.title, '', file)
      assert.equal(rendered.html.match(/<h1>/g)?.length, 1, file)
    }
  })
})

describe('the state diagram of payments', () => {
  const moves = PAYMENT_STATUSES.flatMap((from) => PAYMENT_MOVES[from].map((to) => [from, to] as const))
  const text = [
    'stateDiagram-v2',
    '  [*] --> pending',
    ...moves.map(([from, to]) => `  ${from} --> ${to}`),
  ].join('\n')
  const MEMBERS: Record<string, string[]> = {
    open: ['pending', 'processing'],
    'not paid': ['failed', 'abandoned', 'expired'],
  }

  it('has arrows for exactly the moves of the table', () => {
    const membersOf = (name: string) => MEMBERS[name] ?? [name]
    const drawn = arrowsOf(moves).flatMap(({ from, to, isTwoWay }) =>
      membersOf(from).flatMap((one) =>
        membersOf(to).flatMap((other) => [`${one} ${other}`, ...(isTwoWay ? [`${other} ${one}`] : [])]),
      ),
    )
    assert.deepEqual(drawn.toSorted(), moves.map(([from, to]) => `${from} ${to}`).toSorted())
    // An added or removed move changes the picture.
    assert.notDeepEqual(arrowsOf(moves.slice(1)), arrowsOf(moves))
  })

  it('names every status, and says every move as text', () => {
    const svg = drawStateDiagram(text)
    for (const status of PAYMENT_STATUSES) assert.ok(svg.includes(`>${status}</text>`), status)
    assert.match(svg, /<desc[^>]*>pending can move to processing, successful, failed, abandoned, expired\./)
  })

  it('is drawn on the page of the states; a diagram with an unknown state stays text', () => {
    assert.match(pages.find(({ slug }) => slug === 'states')?.rendered.html ?? '', /<svg viewBox/)
    assert.equal(isStateDiagram('stateDiagram-v2\n  lost --> found'), false)
  })
})
