// The tree as the style test reads it: plain text, and what can be derived from it without a compiler because one formatter
// writes all of it.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

export const ROOT = dirname(dirname(import.meta.dirname))

/** What is not ours, not committed, or made when the program runs. */
const IGNORED = /^(?:node_modules|dist|\.git|\.cowry.*|coverage|.*\.log)$/

export interface TreeFile {
  /** From the root, with forward slashes. */
  path: string
  text: string
}

export function readTree(folder = ''): TreeFile[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !IGNORED.test(name))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name)
      if (entry.isDirectory()) return readTree(path)
      return isText(path) ? [{ path, text: readFileSync(join(ROOT, path), 'utf8') }] : []
    })
}

function isText(path: string): boolean {
  return !/\.(?:png|webp|svg|ico|woff2|gz)$/.test(path)
}

/** Code of the product, without its tests. */
export function isProduct({ path }: TreeFile): boolean {
  return path.startsWith('src/') && !path.endsWith('.test.ts')
}

export function isTest({ path }: TreeFile): boolean {
  return path.endsWith('.test.ts')
}

/** The lines that are not comments, each with its number. */
export function codeLines({ text }: TreeFile): { number: number; line: string }[] {
  return text
    .split('\n')
    .map((line, index) => ({ number: index + 1, line }))
    .filter(({ line }) => !/^\s*(?:\/\/|\/?\*)/.test(line))
}

export interface Import {
  from: string
  to: string
  /** The names that are imported; empty for an import of a whole module. */
  names: readonly string[]
}

const IMPORT = /^(?:import|export)\s+(?:([^'";]*?)\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

/** Every import of a file, of types too: our own files by their path from the root, packages by their name. */
export function importsOf({ path, text }: TreeFile): Import[] {
  return [...text.matchAll(IMPORT)].map(([, clause = '', stated, lazy]) => {
    const name = stated ?? lazy ?? ''
    const to = name.startsWith('.') ? posix.join(posix.dirname(path), name) : name
    return { from: path, to, names: namesIn(clause) }
  })
}

function namesIn(clause: string): string[] {
  const inside = /\{([^}]*)\}/.exec(clause)?.[1] ?? ''
  return inside
    .split(',')
    .map((name) =>
      name
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*$/, ''),
    )
    .filter(Boolean)
}

/** One cycle among the imports, as a path that ends where it began, or undefined. */
export function findCycle(imports: readonly Import[]): string[] | undefined {
  const next = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const visit = (file: string, trail: string[]): string[] | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file]
    if (done.has(file)) return undefined
    for (const { to } of next.get(file) ?? []) {
      const cycle = visit(to, [...trail, file])
      if (cycle) return cycle
    }
    done.add(file)
    return undefined
  }
  for (const file of next.keys()) {
    const cycle = visit(file, [])
    if (cycle) return cycle
  }
  return undefined
}
