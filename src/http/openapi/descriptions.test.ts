import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { isSchema, type JsonSchema } from '../input/json-schema.ts'

const ROOT = new URL('../../../', import.meta.url)

/** The committed documents: of merchants, and of operators. */
const DOCUMENTS = readdirSync(ROOT).filter((name) => /^openapi.*\.json$/.test(name))

async function readDocument(name: string): Promise<JsonSchema> {
  return JSON.parse(await readFile(new URL(name, ROOT), 'utf8'))
}

function resolve(document: JsonSchema, value: unknown): unknown {
  if (!isSchema(value) || typeof value.$ref !== 'string') return value
  const segments = value.$ref.replace(/^#\//, '').split('/')
  return segments.reduce<unknown>((inner, segment) => Reflect.get(Object(inner), segment), document)
}

/** A reference may have a description of its own, which counts before that of its target. */
function isDescribed(document: JsonSchema, value: unknown): boolean {
  if (!isSchema(value)) return false
  if (typeof value.description === 'string') return value.description.length > 0
  if (value.$ref !== undefined) return isDescribed(document, resolve(document, value))
  const branches = [value.anyOf ?? value.oneOf ?? value.allOf ?? []].flat()
  const [only, ...others] = branches.filter((branch) => isSchema(branch) && branch.type !== 'null')
  return others.length === 0 && isDescribed(document, only)
}

/** The paths of every property and parameter that has no description. */
function undescribed(document: JsonSchema): string[] {
  const found = new Set<string>()
  const walk = (value: unknown, path: string, names: boolean) => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, member] of Object.entries(value)) {
      const inner = `${path}/${key}`
      // Examples and defaults are values, not schemas; a property may have their name.
      if (!names && ['example', 'examples', 'default', 'enum'].includes(key)) continue
      const isSubject = names || (path.endsWith('/parameters') && !path.startsWith('/components'))
      if (isSubject && !isDescribed(document, member)) found.add(inner)
      walk(member, inner, !names && (key === 'properties' || inner === '/components/parameters'))
    }
  }
  walk(document, '', false)
  return [...found]
}

describe('the descriptions of the OpenAPI documents', () => {
  for (const name of DOCUMENTS)
    it(`cover every property and every parameter of ${name}`, async () => {
      assert.deepEqual(undescribed(await readDocument(name)), [])
    })

  it('are missed where a property, a parameter or the target of a reference has none', () => {
    const text = { type: 'string' }
    const document = {
      paths: { '/a': { get: { parameters: [{ name: 'page', in: 'query', schema: text }] } } },
      components: {
        parameters: { Limit: { name: 'limit', in: 'query', schema: text } },
        schemas: {
          Thing: {
            type: 'object',
            properties: { size: text, color: { ...text, description: 'Its color.' } },
          },
          Box: {
            properties: { thing: { anyOf: [{ $ref: '#/components/schemas/Thing' }, { type: 'null' }] } },
          },
          Hint: { properties: { thing: { $ref: '#/components/schemas/Thing', description: 'Inside.' } } },
        },
      },
    }
    assert.deepEqual(undescribed(document), [
      '/paths//a/get/parameters/0',
      '/components/parameters/Limit',
      '/components/schemas/Thing/properties/size',
      '/components/schemas/Box/properties/thing',
    ])
  })
})
