// Cleans a parsed value by its schema before validation: reports unknown properties and forbidden characters, treats
// null for an optional property as absent, fills defaults, and normalizes names. Each schema is compiled into a
// function once, at startup.

import type { Issue } from '../../core/errors.ts'
import { findCharacterIssue } from './characters.ts'
import { isSchema, type JsonSchema } from './json-schema.ts'
import { createUnknownFieldIssue, type UnknownFieldIssue } from './unknown-fields.ts'

type Path = (string | number)[]

/** Returns the cleaned value and adds issues to the list. `path` is the path of the value, for field names. */
export type Clean = (value: unknown, path: Path, issues: Issue[]) => unknown

/** What a schema inherits from the one around it. */
interface Context {
  multiline: boolean
  unknownFieldIssue: UnknownFieldIssue
}

export function compileClean(schema: JsonSchema): Clean {
  const unknownFieldIssue = createUnknownFieldIssue('body', schema)
  return compile(schema, { multiline: false, unknownFieldIssue })
}

function compile(schema: JsonSchema, outer: Context): Clean {
  const context = { ...outer, multiline: outer.multiline || schema['x-multiline'] === true }
  if (schema.allOf || schema.$ref)
    throw new Error('input schemas must be plain: write one object instead of allOf or $ref')
  const branches = branchesOf(schema)
  if (branches) return compileUnion(branches, context)
  if (isFreeForm(schema)) return compileFreeForm(context)
  if (isSchema(schema.properties)) return compileObject(schema, schema.properties, context)
  if (isSchema(schema.items)) return compileArray(schema.items, context)
  return compileText(schema, context)
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

function compileObject(schema: JsonSchema, properties: JsonSchema, context: Context): Clean {
  const required = Array.isArray(schema.required) ? schema.required : []
  const members = Object.entries(properties).map(([name, child]) => {
    if (!isSchema(child)) throw new Error(`the schema of ${name} is not an object`)
    const keepsNull = required.includes(name) || child['x-null'] === 'refused' || acceptsNull(child)
    return { name, keepsNull, clean: compile(child, context), defaultValue: child.default }
  })
  const reportUnknown = compileReportUnknown(Object.keys(properties), context)
  return (value, path, issues) => {
    if (!isSchema(value)) return value
    reportUnknown(value, path, issues)
    const cleaned: Record<string, unknown> = {}
    for (const { name, keepsNull, clean, defaultValue } of members) {
      // Own properties only: every object inherits toString.
      if (!Object.hasOwn(value, name) || (value[name] === null && !keepsNull)) {
        if (defaultValue !== undefined) cleaned[name] = copyOf(defaultValue)
        continue
      }
      path.push(name)
      cleaned[name] = clean(value[name], path, issues)
      path.pop()
    }
    return cleaned
  }
}

const copyOf = (value: unknown) => (typeof value === 'object' ? structuredClone(value) : value)

/** A hostile body could have thousands of unknown fields, so only the first of an object are reported. */
const MAX_REPORTED = 100

function compileReportUnknown(
  names: readonly string[],
  { unknownFieldIssue }: Context,
): (value: JsonSchema, path: Path, issues: Issue[]) => void {
  const known = new Set(names)
  return (value, path, issues) => {
    const unknown = Object.keys(value).filter((name) => !known.has(name))
    for (const name of unknown.slice(0, MAX_REPORTED)) issues.push(unknownFieldIssue([...path, name], names))
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

function compileArray(items: JsonSchema, context: Context): Clean {
  const clean = compile(items, context)
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

function compileText(schema: JsonSchema, { multiline }: Context): Clean {
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

function compileUnion(branches: JsonSchema[], context: Context): Clean {
  const [first, ...others] = branches
  if (first && others.length === 0) return compile(first, context)
  const objects = branches.map(({ properties }) => properties).filter(isSchema)
  const [only, ...moreObjects] = branches.filter(({ properties }) => isSchema(properties))
  const other = compileFreeForm(context)
  const object = only && moreObjects.length === 0 ? compile(only, context) : other
  // The branch that matches is unknown before validation: a field is unknown only if no branch has it.
  const names = [...new Set(objects.flatMap((properties) => Object.keys(properties)))]
  const reportUnknown = moreObjects.length > 0 ? compileReportUnknown(names, context) : undefined
  return (value, path, issues) => {
    if (!isSchema(value)) return other(value, path, issues)
    reportUnknown?.(value, path, issues)
    return object(value, path, issues)
  }
}

/** Free-form data is kept unchanged; only the characters of its strings and keys are checked. */
function compileFreeForm({ multiline }: Context): Clean {
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
