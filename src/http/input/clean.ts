// Cleans a parsed value by its schema before validation: drops unknown properties, treats null for an optional
// property as absent, fills defaults, normalizes names, and reports forbidden characters. Each schema is compiled
// into a function once, at startup.

import type { Issue } from '../../core/errors.ts'
import { findCharacterIssue } from './characters.ts'

export type JsonSchema = Record<string, unknown>

type Path = (string | number)[]

/** Returns the cleaned value and adds issues to the list. `path` is the path of the value, for field names. */
export type Clean = (value: unknown, path: Path, issues: Issue[]) => unknown

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function compileClean(schema: JsonSchema, inheritedMultiline = false): Clean {
  const multiline = inheritedMultiline || schema['x-multiline'] === true
  if (schema.allOf || schema.$ref)
    throw new Error('input schemas must be plain: write one object instead of allOf or $ref')
  const branches = branchesOf(schema)
  if (branches) return compileUnion(branches, multiline)
  if (isFreeForm(schema)) return compileFreeForm(multiline)
  if (isSchema(schema.properties)) return compileObject(schema, schema.properties, multiline)
  if (isSchema(schema.items)) return compileArray(schema.items, multiline)
  return compileText(schema, multiline)
}

/** The branches of a union without null, which needs no cleaning. */
function branchesOf(schema: JsonSchema): JsonSchema[] | undefined {
  const alternatives = schema.anyOf ?? schema.oneOf
  if (!Array.isArray(alternatives)) return undefined
  return alternatives.filter(isSchema).filter((branch) => branch.type !== 'null')
}

function isFreeForm(schema: JsonSchema): boolean {
  if (schema.patternProperties !== undefined) return true
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false) return true
  const isUntyped = schema.type === undefined && schema.enum === undefined && schema.const === undefined
  return isUntyped && !schema.properties && !schema.items
}

function compileObject(schema: JsonSchema, properties: JsonSchema, multiline: boolean): Clean {
  const required = Array.isArray(schema.required) ? schema.required : []
  const members = Object.entries(properties).map(([name, child]) => {
    if (!isSchema(child)) throw new Error(`the schema of ${name} is not an object`)
    const keepsNull = required.includes(name) || child['x-null'] === 'refused' || acceptsNull(child)
    return { name, keepsNull, clean: compileClean(child, multiline), defaultValue: child.default }
  })
  return (value, path, issues) => {
    if (!isSchema(value)) return value
    const cleaned: Record<string, unknown> = {}
    for (const { name, keepsNull, clean, defaultValue } of members) {
      // Own properties only: every object inherits toString.
      if (!Object.hasOwn(value, name) || (value[name] === null && !keepsNull)) {
        if (defaultValue !== undefined) cleaned[name] = structuredClone(defaultValue)
        continue
      }
      path.push(name)
      cleaned[name] = clean(value[name], path, issues)
      path.pop()
    }
    return cleaned
  }
}

/** A schema that allows null gives it a meaning, such as clearing a field. */
function acceptsNull(schema: JsonSchema): boolean {
  if (Array.isArray(schema.type)) return schema.type.includes('null')
  const alternatives = schema.anyOf ?? schema.oneOf
  return (
    Array.isArray(alternatives) && alternatives.some((branch) => isSchema(branch) && branch.type === 'null')
  )
}

function compileArray(items: JsonSchema, multiline: boolean): Clean {
  const clean = compileClean(items, multiline)
  return (value, path, issues) => {
    if (!Array.isArray(value)) return value
    return value.map((item: unknown, index) => {
      path.push(index)
      const cleaned = clean(item, path, issues)
      path.pop()
      return cleaned
    })
  }
}

function compileText(schema: JsonSchema, multiline: boolean): Clean {
  const normalise = schema['x-nfc'] === true
  // x-code applies to every issue of its field, including forbidden characters.
  const codeOverride = typeof schema['x-code'] === 'string' && { code: schema['x-code'] }
  return (value, path, issues) => {
    if (typeof value !== 'string') return value
    const issue = findCharacterIssue(value, path, multiline)
    if (issue) issues.push({ ...issue, ...codeOverride })
    return normalise ? value.normalize('NFC') : value
  }
}

function compileUnion(branches: JsonSchema[], multiline: boolean): Clean {
  const [first, ...others] = branches
  if (first && others.length === 0) return compileClean(first, multiline)
  const objects = branches.filter((branch) => isSchema(branch.properties))
  // With several object branches nothing is dropped, because the matching branch is unknown before validation.
  const object =
    objects.length === 1 && objects[0] ? compileClean(objects[0], multiline) : compileFreeForm(multiline)
  const other = compileFreeForm(multiline)
  return (value, path, issues) => (isSchema(value) ? object : other)(value, path, issues)
}

/** Free-form data is kept unchanged; only the characters of its strings and keys are checked. */
function compileFreeForm(multiline: boolean): Clean {
  const check = (text: string, path: Path, issues: Issue[]): void => {
    const issue = findCharacterIssue(text, path, multiline)
    if (issue) issues.push(issue)
  }
  const walk = (value: unknown, path: Path, issues: Issue[]): void => {
    if (typeof value === 'string') check(value, path, issues)
    if (typeof value !== 'object' || value === null) return
    for (const [key, member] of Object.entries(value)) {
      path.push(key)
      if (!Array.isArray(value)) check(key, path, issues)
      walk(member, path, issues)
      path.pop()
    }
  }
  return (value, path, issues) => {
    walk(value, path, issues)
    return value
  }
}
