// The style, enforced: structure that a newcomer may rely on, not taste. Exceptions are beside each rule.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { describe, it } from 'node:test'
import { renderDocs } from '../src/docs.ts'
import { ADVISORY_LOCKS } from '../src/kit/db/advisory-locks.ts'
import { findGaps, findNamedTests, renderFaults } from './fault-table/render.ts'
import { findMetaphor, findMetaphors } from './tidy/language.ts'
import {
  foldersWithoutLayer,
  MAX_PUBLIC_NAMES,
  MAX_SLICE_FILES,
  privateImports,
  upwardImports,
  wideSlices,
} from './tidy/layers.ts'
import {
  codeLines,
  findCycle,
  importsOf,
  isProduct,
  isTest,
  ROOT,
  readTree,
  type TreeFile,
} from './tidy/tree.ts'
import { renderWrittenParts } from './tidy/written-parts.ts'

const TREE = readTree()
const SOURCES = TREE.filter(({ path }) => path.endsWith('.ts'))
const PRODUCT = TREE.filter(isProduct).filter(({ path }) => path.endsWith('.ts'))
const IMPORTS = PRODUCT.flatMap(importsOf)

/** Whether an exemption covers the file. An exemption that covers no file of the tree is an error: the file is gone. */
function isExempt(path: string, exemptions: readonly RegExp[]): boolean {
  for (const exemption of exemptions)
    assert.ok(
      TREE.some((file) => exemption.test(file.path)),
      `the exemption ${exemption} matches no file`,
    )
  return exemptions.some((exemption) => exemption.test(path))
}

/** The matches of a pattern in code, outside the exempt files. */
function findInCode(files: readonly TreeFile[], pattern: RegExp, ...exempt: RegExp[]): string[] {
  return files
    .filter(({ path }) => !isExempt(path, exempt))
    .flatMap((file) =>
      codeLines(file)
        .filter(({ line }) => pattern.test(line))
        .map(({ number, line }) => `${file.path}:${number} ${line.trim()}`),
    )
}

const importers = (name: RegExp, ...exempt: RegExp[]) =>
  IMPORTS.filter(({ from, to }) => name.test(to) && !isExempt(from, exempt)).map(
    ({ from, to }) => `${from} → ${to}`,
  )

describe('the layers of src', () => {
  it('assigns every folder of src to a layer', () => {
    assert.deepEqual(foldersWithoutLayer(PRODUCT.map(({ path }) => path)), [])
  })

  it('imports only from lower layers', () => {
    assert.deepEqual(upwardImports(IMPORTS), [])
  })

  it('imports no queries, routes or jobs of another folder', () => {
    assert.deepEqual(privateImports(IMPORTS), [])
  })

  it('has no import cycle', () => {
    assert.equal(findCycle(IMPORTS)?.join(' → '), undefined)
  })

  it('has no barrel: a file does not re-export the names of another one', () => {
    assert.deepEqual(findInCode(PRODUCT, /^export (?:type )?(?:\*|\{[^}]*\}) from/), [])
  })

  it('uses few names of each slice', () => {
    assert.deepEqual(wideSlices(IMPORTS), [])
  })

  it('has slices of at most 20 files', () => {
    const sizes = Map.groupBy(PRODUCT, ({ path }) => dirname(path))
    const large = [...sizes].filter(
      ([folder, files]) => !/^src$/.test(folder) && files.length > MAX_SLICE_FILES,
    )
    assert.deepEqual(
      large.map(([folder, files]) => `${folder}: ${files.length}`),
      [],
    )
  })
})

describe('the rules of the layers', () => {
  const imported = (from: string, to: string, names: string[] = []) => [
    { from: `src/${from}`, to: `src/${to}`, names },
  ]

  it('rejects an upward import, an import of a neighbour and a cycle', () => {
    assert.equal(upwardImports(imported('kit/db/db.ts', 'payments/find.ts')).length, 1)
    assert.equal(upwardImports(imported('customers/service.ts', 'merchants/service.ts')).length, 1)
    assert.equal(upwardImports(imported('config.ts', 'payments/find.ts')).length, 1)
    const circle = [...imported('kit/a.ts', 'kit/b.ts'), ...imported('kit/b.ts', 'kit/a.ts')]
    assert.equal(findCycle(circle)?.length, 3)
  })

  it('rejects an import of a private file, and too many names of a slice', () => {
    assert.equal(privateImports(imported('pages/routes.ts', 'payments/queries.ts')).length, 1)
    assert.equal(privateImports(imported('pages/routes.ts', 'payments/move-queries.ts')).length, 1)
    assert.equal(privateImports(imported('refunds/advance.ts', 'payments/jobs.ts')).length, 1)
    const names = Array.from({ length: MAX_PUBLIC_NAMES + 1 }, (_, index) => `name${index}`)
    assert.equal(wideSlices(imported('pages/routes.ts', 'links/link.ts', names)).length, 1)
  })
})

describe('code with a fixed place', () => {
  it('reads the environment in config.ts only', () => {
    assert.deepEqual(findInCode(PRODUCT, /process\.env\b/, /^src\/config\.ts$/), [])
  })

  it('calls the network in kit/http/http-client.ts only', () => {
    const client = /^src\/kit\/http\/http-client\.ts$/
    assert.deepEqual(findInCode(PRODUCT, /\bfetch\(/, client), [])
    assert.deepEqual(importers(/^(?:undici|node:https)$/, client), [])
  })

  it('has SQL in queries.ts, kit and migrations only', () => {
    const queries = /^src\/.*\/(?:[\w-]+-)?queries\.ts$/
    assert.deepEqual(findInCode(PRODUCT, /\bsql(?:<[^`]*>)?`/, /^src\/kit\//, queries), [])
    assert.deepEqual(importers(/^pg$/, /^src\/kit\//), [])
  })

  it('compares signatures in kit/crypto.ts, in constant time (F-46)', () => {
    const compared = /(?:signature|mac)\w*\s*[!=]==?(?!\s*(?:undefined|null|''))/i
    assert.deepEqual(findInCode(PRODUCT, compared, /^src\/kit\/crypto\.ts$/), [])
    assert.match(readFileSync(join(ROOT, 'src/kit/crypto.ts'), 'utf8'), /timingSafeEqual\(a, b\)/)
  })

  it('imports the web framework in src/http only', () => {
    assert.deepEqual(importers(/fastify|^ajv/, /^src\/http\//), [])
  })

  it('reads clock and randomness through kit only', () => {
    const made =
      /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\brandom(?:UUID|Bytes|Int)\(|\bset(?:Timeout|Interval)\(/
    // A process that must exit cannot depend on an injected clock.
    const exempt = [/^src\/kit\//, /^src\/serve\.ts$/]
    assert.deepEqual(findInCode(PRODUCT, made, ...exempt), [])
    assert.deepEqual(importers(/^node:timers/, ...exempt), [])
  })
})

describe('files and their text', () => {
  it('has no file with a generic name', () => {
    const banned = /^(?:utils?|helpers?|common|misc|types|interfaces|enums?|lib|shared|manager)(?:\.|$)/
    const parts = SOURCES.flatMap(({ path }) => path.split('/').map((part) => ({ path, part })))
    assert.deepEqual(
      parts.filter(({ part }) => banned.test(part)).map(({ path }) => path),
      [],
    )
  })

  it('names files in kebab-case', () => {
    const odd = SOURCES.filter(
      ({ path }) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test)?\.ts$/.test(basename(path)),
    )
    assert.deepEqual(
      odd.map(({ path }) => path),
      [],
    )
  })

  it('exports by name, and allows no any', () => {
    // Node loads a test reporter only from the default export.
    const reporter = /^test\/support\/summary-reporter\.ts$/
    // Medusa loads a provider from the default export, and adds properties to it.
    const medusa = /^packages\/medusa\/src\/index\.ts$/
    assert.deepEqual(findInCode(SOURCES, /^export default\b/, reporter, medusa), [])
    // The linter rejects any everywhere; tests that read any shape have an exception per line.
    const silenced = PRODUCT.filter(({ text }) =>
      /biome-ignore lint\/suspicious\/noExplicitAny|@ts-(?:ignore|expect-error|nocheck)/.test(text),
    )
    assert.deepEqual(
      silenced.map(({ path }) => path),
      [],
    )
  })

  it('has no TODO', () => {
    const reminded = TREE.filter(({ text }) => /\b(?:TODO|FIXME)\b/.test(text)).map(({ path }) => path)
    assert.deepEqual(
      reminded.filter((path) => path !== 'test/tidy.test.ts' && path !== 'package-lock.json'),
      [],
    )
  })

  it('has no source file longer than 450 lines', () => {
    const generated = /^packages\/[^/]+\/src\/generated\//
    const written = SOURCES.filter(({ path }) => !isExempt(path, [generated]))
    const long = written.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    assert.deepEqual(
      long.filter(({ lines }) => lines > 450),
      [],
    )
  })

  it('names no machine and no private registry', () => {
    const own = ROOT.replaceAll(/[^\w/-]/g, '\\$&')
    const machine = new RegExp(`(?<![\\w.])(?:/(?:home|Users)/[a-z]|${own}(?![\\w-]))`)
    const found = TREE.filter(({ text }) => machine.test(text))
    assert.deepEqual(
      found.map(({ path }) => path),
      [],
    )
    const lock = TREE.find(({ path }) => path === 'package-lock.json')
    // Only a folder of the repository, never an address.
    assert.doesNotMatch(lock?.text ?? '', /"resolved": "(?!packages\/|test\/postgres-15")/)
    assert.doesNotMatch(TREE.find(({ path }) => path === '.npmrc')?.text ?? '', /registry/)
  })
})

describe('the tests', () => {
  const TESTS = TREE.filter(isTest)

  it('has unique test names', () => {
    const names = TESTS.flatMap(testNames)
    assert.ok(names.length > 100, 'the names were found')
    const filesByName = Map.groupBy(names, ({ name }) => name)
    const shared = [...filesByName].filter(([, found]) => found.length > 1)
    assert.deepEqual(
      shared.map(([name, found]) => `${name}: ${found.map(({ path }) => path).join(', ')}`),
      [],
    )
  })

  it('has no test name that only continues the name of its suite', () => {
    const continuing = /^(?:F-\d+: )?(?:that|of|when|with|without|for)\b/
    const names = TESTS.flatMap(testNames)
    assert.deepEqual(
      names
        .filter(({ name }) => continuing.test(name.split(' › ').at(-1) ?? ''))
        .map(({ path, name }) => `${path}: ${name}`),
      [],
    )
  })

  it('skips a test only in the quick form, or because of the machine', () => {
    const disabled = /\b(?:it|test|describe|suite)\.(?:only|skip|todo)\b|\{\s*(?:only|skip|todo):/
    const self = /^test\/tidy\.test\.ts$/
    assert.deepEqual(findInCode(TESTS, disabled, self), [])
    // Only tests of the machine itself, such as being root or having PHP, may be skipped on another one.
    const aboutMachine = [
      /^test\/(?:start|guides)\/.*\.test\.ts$/,
      /^src\/kit\/embedded-postgres.*\.test\.ts$/,
    ]
    assert.deepEqual(findInCode(TESTS, /\bt\.(?:skip|todo)\(/, self, ...aboutMachine), [])
  })
})

/** The full names of a file's tests; the formatter's indentation says which suite a test stands in. */
function testNames({ path, text }: TreeFile): { path: string; name: string }[] {
  const suites: { indent: number; name: string }[] = []
  const names: { path: string; name: string }[] = []
  for (const match of text.matchAll(/^( *)(it|test|describe|suite)\(\s*(['"`])(.*?)\3,/gm)) {
    const [, { length: indent } = '', word = '', , name = ''] = match
    while ((suites.at(-1)?.indent ?? -1) >= indent) suites.pop()
    if (word === 'describe' || word === 'suite') suites.push({ indent, name })
    else names.push({ path, name: [...suites.map((suite) => suite.name), name].join(' › ') })
  }
  return names
}

describe('the language', () => {
  it('uses no metaphor that the glossary replaces, in names, comments and documentation', () => {
    assert.deepEqual(TREE.flatMap(findMetaphors), [])
  })

  it('finds metaphors in the parts of a name', () => {
    const words = ['forgetRings', 'merchant_wall', 'the doorbell', 'WALL_HEIGHT'].map(findMetaphor)
    assert.deepEqual(words, ['forget', 'wall', 'doorbell', 'WALL'])
    for (const text of ['string', 'wallet', 'user nobody', "'nobody'"])
      assert.equal(findMetaphor(text), undefined)
  })
})

describe('the migrations', () => {
  const MIGRATIONS = TREE.filter(({ path }) => path.startsWith('migrations/'))

  it('takes every number of an advisory lock from one table, in which no number stands twice', () => {
    const numbers: string[] = Object.values(ADVISORY_LOCKS)
    assert.equal(new Set(numbers).size, numbers.length)
    const taken = MIGRATIONS.flatMap(({ text }) =>
      [...text.matchAll(/advisory_\w*lock\((\d+)/g)].map(([, number = '']) => number),
    )
    assert.ok(taken.length > 0)
    assert.deepEqual(
      taken.filter((number) => !numbers.includes(number)),
      [],
    )
    assert.deepEqual(findInCode(PRODUCT, /advisory_\w*lock\(\d/), [])
  })

  it('numbers migrations without a gap', () => {
    const numbers = MIGRATIONS.map(({ path }) => /^(\d{4})_[a-z0-9_]+\.sql$/.exec(basename(path))?.[1])
    assert.deepEqual(
      numbers.toSorted(),
      MIGRATIONS.map((_, index) => String(index + 1).padStart(4, '0')),
    )
  })

  it('starts every migration with its reason', () => {
    const silent = MIGRATIONS.filter(({ text }) => !/^-- \S+(?: \S+){3,}/.test(text))
    assert.deepEqual(
      silent.map(({ path }) => path),
      [],
    )
  })
})

describe('the documentation', () => {
  for (const [path, text] of Object.entries(renderDocs())) {
    it(`has generated documentation of the current code in ${path}`, () => {
      const written = TREE.find((file) => file.path === path)?.text
      assert.ok(written === text, `${path} is stale: run "npm run docs"`)
    })
  }

  for (const [path, text] of Object.entries(renderWrittenParts())) {
    it(`has the parts written from tables up to date in ${path}`, () => {
      assert.ok(
        TREE.find((file) => file.path === path)?.text === text,
        `${path} is stale: run "npm run docs"`,
      )
    })
  }

  it('gives a reason for every dependency', () => {
    assert.doesNotMatch(renderWrittenParts()['docs/decisions/0010-dependencies.md'] ?? '', /no reason given/)
  })

  const PAGES = TREE.filter(({ path }) => path.endsWith('.md'))

  it('lists every fault with the tests that cover it', () => {
    const tests = findNamedTests(TREE)
    assert.deepEqual(findGaps(tests), [])
    const written = readFileSync(join(ROOT, 'docs/faults.md'), 'utf8')
    assert.ok(written === renderFaults(tests), 'docs/faults.md is stale: run "npm run faults"')
  })

  it('has every top-level document', () => {
    const wanted = ['README', 'ARCHITECTURE', 'CONTRIBUTING', 'CHANGELOG', 'SECURITY'].map(
      (name) => `${name}.md`,
    )
    assert.deepEqual(
      [...wanted, 'LICENSE'].filter((path) => !existsSync(join(ROOT, path))),
      [],
    )
  })

  it('links only to existing targets in the documentation', () => {
    const broken = PAGES.flatMap(({ path, text }) =>
      [
        ...text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g),
        ...text.matchAll(/src="(?!https?:)([^"]+)"/g),
      ]
        .map(([, target = '']) => posix.join(dirname(path), target))
        .filter((target) => !existsSync(join(ROOT, target)))
        .map((target) => `${path} → ${target}`),
    )
    assert.deepEqual(broken, [])
  })

  it('names only existing files and folders in the documentation', () => {
    // A name with a placeholder (<name>, …, *) is a pattern.
    const name = /`((?:src|test|docs|migrations|bench|bin|packages|\.ci)\/[^`\s<>…*{}()]*)`/g
    const missing = PAGES.flatMap(({ path, text }) =>
      [...text.matchAll(name)]
        .filter(([, named = '']) => !existsSync(join(ROOT, named)))
        .map(([, named]) => `${path} names ${named}`),
    )
    assert.deepEqual(missing, [])
  })

  it('maps the tree as it is in the README', () => {
    const map =
      /```text map\n([\s\S]*?)```/.exec(TREE.find(({ path }) => path === 'README.md')?.text ?? '')?.[1] ?? ''
    const named = [...map.matchAll(/^(\S+) {2}/gm)].map(([, path = '']) => path)
    assert.ok(named.length > 10, 'the map was found')
    assert.deepEqual(
      named.filter((path) => !existsSync(join(ROOT, path))),
      [],
    )
    const folders = new Set(
      TREE.map(({ path }) => dirname(path)).filter((path) => /^(?:src|packages)\/[^/]+$/.test(path)),
    )
    assert.deepEqual(
      [...folders].filter((folder) => !named.includes(`${folder}/`)),
      [],
    )
  })
})
