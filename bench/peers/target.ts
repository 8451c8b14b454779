// A target of the peers' benchmark: one write request, described in a file, so that the same driver measures any service.

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'

export interface Target {
  name: string
  /** The origin of the service. */
  url: string
  path: string
  headers: Record<string, string>
  body: unknown
  /** What the service answers when it has written. */
  expectedStatus: number
  /** Values of `{{names}}` in path and body: each request takes one of the rows at random. */
  rows?: readonly Record<string, string>[]
}

const FIELDS = ['name', 'url', 'path', 'headers', 'body', 'expectedStatus'] as const

/** `{{ENV_NAME}}` in the file stands for a variable of the environment, such as a key. */
export async function readTarget(file: string, env: Record<string, string | undefined>): Promise<Target> {
  const text = (await readFile(file, 'utf8')).replace(/\{\{([A-Z][A-Z0-9_]*)\}\}/g, (_, name: string) => {
    const value = env[name]
    if (value === undefined) throw new Error(`${file} needs the environment variable ${name}`)
    return value
  })
  const target = JSON.parse(text)
  const missing = FIELDS.filter((field) => target[field] === undefined)
  if (missing.length > 0) throw new Error(`${file} has no ${missing.join(', ')}`)
  return target
}

/** `{{uuid}}` is another one in each request. */
export function requestOf({ name: target, path, body, rows = [] }: Target): { path: string; body: string } {
  const row = rows[Math.floor(Math.random() * rows.length)]
  const valueFor = (name: string) => {
    const value = name === 'uuid' ? randomUUID() : row?.[name]
    if (value === undefined) throw new Error(`${target} has no value for {{${name}}}`)
    return value
  }
  const fill = (text: string) =>
    text.replace(/\{\{([a-z][A-Za-z]*)\}\}/g, (_, name: string) => valueFor(name))
  return { path: fill(path), body: fill(JSON.stringify(body)) }
}
