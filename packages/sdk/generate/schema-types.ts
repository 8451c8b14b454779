// TypeScript types from the schemas of the OpenAPI document.

/** A part of the document; what is read from it is checked where it is read. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  const?: unknown
  enum?: unknown[]
  format?: string
  examples?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
}

export type Schemas = Readonly<Record<string, Schema>>

export const nameOf = (reference: string) => reference.slice(reference.lastIndexOf('/') + 1)

/** `export interface Name {…}`, or a type alias where the schema is not a plain object. */
export function renderDeclaration(name: string, schema: Schema): string {
  const { properties, required = [] } = schema
  const comment = renderComment(schema.description, '')
  if (schema.type === 'object' && properties && !schema.allOf)
    return `${comment}export interface ${name} ${renderProperties(properties, required, '')}\n`
  return `${comment}export type ${name} = ${renderType(schema)}\n`
}

export function renderType(schema: Schema, indent = ''): string {
  const { $ref, allOf, items, properties, required = [], additionalProperties } = schema
  if ($ref !== undefined) return nameOf($ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  // Beside properties, alternatives only say which of them are required together.
  const alternatives = properties ? undefined : (schema.anyOf ?? schema.oneOf)
  if (alternatives) return joinTypes(alternatives.map(besideKnownValues), ' | ', indent)
  if (allOf)
    return joinTypes(properties ? [...allOf, { type: 'object', properties, required }] : allOf, ' & ', indent)
  if (Array.isArray(schema.type))
    return joinTypes(
      schema.type.map((type) => ({ ...schema, type })),
      ' | ',
      indent,
    )
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case ANY_OTHER_TEXT:
      return `(${ANY_OTHER_TEXT})`
    case 'array':
      return items ? `${parenthesized(renderType(items, indent))}[]` : 'unknown[]'
    case 'object':
      if (properties) return renderProperties(properties, required, indent)
      if (typeof additionalProperties === 'object')
        return `Record<string, ${renderType(additionalProperties, indent)}>`
      return 'Record<string, unknown>'
    default:
      return 'unknown'
  }
}

/** Beside named values, so that editors still complete them: a union with string would be string. */
const ANY_OTHER_TEXT = 'string & {}'

function besideKnownValues(schema: Schema, _index: number, all: readonly Schema[]): Schema {
  const isOther = schema.type === 'string' && Object.keys(schema).length === 1
  return isOther && all.some(({ $ref }) => $ref !== undefined) ? { type: ANY_OTHER_TEXT } : schema
}

function joinTypes(schemas: readonly Schema[], separator: string, indent: string): string {
  const types = schemas.map((schema) => renderType(schema, indent))
  return [...new Set(separator === ' & ' ? types.map(parenthesized) : types)].join(separator)
}

/** A union or intersection as a part of another type. */
const parenthesized = (type: string) =>
  / [|&] /.test(type.replaceAll(/\{[\s\S]*\}/g, '')) ? `(${type})` : type

export function renderProperties(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  indent: string,
): string {
  const inner = `${indent}  `
  const lines = Object.entries(properties).map(([name, schema]) => {
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
    const type = renderType(schema, inner)
    // Also undefined, for programs that compile with exactOptionalPropertyTypes.
    const member = required.includes(name) ? `${key}: ${type}` : `${key}?: ${type} | undefined`
    return `${renderComment(schema.description, inner)}${inner}${member}\n`
  })
  return `{\n${lines.join('')}${indent}}`
}

export function renderComment(text: string | undefined, indent: string): string {
  if (!text) return ''
  const lines = text.replaceAll('*/', '*\\/').split('\n')
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

/** The names of the schemas that these schemas use, directly or through others. */
export function namesUsedBy(roots: readonly unknown[], schemas: Schemas): string[] {
  const found = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { $ref } = value as Schema
    if (typeof $ref === 'string' && !found.has(nameOf($ref))) {
      found.add(nameOf($ref))
      visit(schemas[nameOf($ref)])
    }
    for (const member of Object.values(value)) visit(member)
  }
  for (const root of roots) visit(root)
  return Object.keys(schemas).filter((name) => found.has(name))
}
