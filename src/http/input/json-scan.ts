// Scans the text of a JSON body once, in linear time, before it is parsed. It finds facts that the parsed value
// loses: excessive nesting, duplicate keys, numbers that lose digits, and the position of a syntax error. JSON.parse
// reports none of these, or only in messages that repeat the body.

import { API_ERRORS, ApiError } from '../../core/errors.ts'

export interface JsonFacts {
  /** Dotted paths of numbers whose digits a JavaScript number cannot hold. */
  lossyNumbers: Set<string>
  /** Dotted paths of numbers that are written with an exponent. */
  exponentNumbers: Set<string>
  /** Dotted paths of keys that occur more than once in the same object. */
  duplicateKeys: Set<string>
}

/** JSON.parse accepts deeper bodies, but no operation needs them, and JSON.stringify fails on very deep ones. */
export const MAX_DEPTH = 16

type Path = (string | number)[]

interface Scanner extends JsonFacts {
  readonly text: string
  at: number
  readonly path: Path
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

/** Returns the facts about a well-formed text; refuses any other. */
export function scanJson(text: string): JsonFacts {
  const facts = { lossyNumbers: new Set<string>(), exponentNumbers: new Set<string>() }
  const scanner: Scanner = { text, at: 0, path: [], ...facts, duplicateKeys: new Set() }
  scanValue(scanner)
  skipSpace(scanner)
  if (scanner.at < text.length) throw malformed(scanner)
  return scanner
}

function scanValue(scanner: Scanner): void {
  switch (skipSpace(scanner)) {
    case QUOTE:
      skipString(scanner)
      return
    case OPEN_BRACE:
      scanObject(scanner)
      return
    case OPEN_BRACKET:
      scanArray(scanner)
      return
    default:
      if (!skipMatch(scanner, LITERAL)) scanNumber(scanner)
  }
}

function scanObject(scanner: Scanner): void {
  const keys = new Set<string>()
  enterContainer(scanner)
  if (skipSpace(scanner) === CLOSE_BRACE) {
    scanner.at += 1
    return
  }
  for (;;) {
    if (skipSpace(scanner) !== QUOTE) throw malformed(scanner)
    const key = scanKey(scanner)
    scanner.path.push(key)
    if (keys.has(key)) scanner.duplicateKeys.add(dotted(scanner.path))
    keys.add(key)
    expect(scanner, COLON)
    scanValue(scanner)
    scanner.path.pop()
    if (skipSpace(scanner) === CLOSE_BRACE) break
    expect(scanner, COMMA)
  }
  scanner.at += 1
}

function scanArray(scanner: Scanner): void {
  enterContainer(scanner)
  if (skipSpace(scanner) === CLOSE_BRACKET) {
    scanner.at += 1
    return
  }
  for (let index = 0; ; index += 1) {
    scanner.path.push(index)
    scanValue(scanner)
    scanner.path.pop()
    if (skipSpace(scanner) === CLOSE_BRACKET) break
    expect(scanner, COMMA)
  }
  scanner.at += 1
}

/** Skips the opening bracket. The path holds one entry per level, so its length is the depth outside. */
function enterContainer(scanner: Scanner): void {
  if (scanner.path.length >= MAX_DEPTH) {
    const message = `The body is nested deeper than ${MAX_DEPTH} levels ${positionText(scanner)}.`
    throw new ApiError('validation_failed', {
      message,
      details: [{ field: 'body', code: 'too_deep', message }],
    })
  }
  scanner.at += 1
}

function scanKey(scanner: Scanner): string {
  const start = scanner.at
  const escaped = skipString(scanner)
  // An escaped key equals the same key without escapes, so the decoded keys are compared.
  return escaped
    ? String(JSON.parse(scanner.text.slice(start, scanner.at)))
    : scanner.text.slice(start + 1, scanner.at - 1)
}

/** Skips a string and returns whether it contains an escape. */
function skipString(scanner: Scanner): boolean {
  let escaped = false
  for (scanner.at += 1; ; ) {
    const code = scanner.text.charCodeAt(scanner.at)
    if (code === QUOTE) break
    if (code === BACKSLASH) {
      escaped = true
      if (!skipMatch(scanner, ESCAPE)) throw malformed(scanner)
    } else if (code >= 0x20) scanner.at += 1
    // A raw control character, or NaN past the end of the text.
    else throw malformed(scanner)
  }
  scanner.at += 1
  return escaped
}

function scanNumber(scanner: Scanner): void {
  const literal = skipMatch(scanner, NUMBER)
  if (!literal) throw malformed(scanner)
  if (/[eE]/.test(literal)) scanner.exponentNumbers.add(dotted(scanner.path))
  if (losesDigits(literal)) scanner.lossyNumbers.add(dotted(scanner.path))
}

const LITERAL = /true|false|null/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function skipMatch(scanner: Scanner, pattern: RegExp): string | undefined {
  pattern.lastIndex = scanner.at
  const found = pattern.exec(scanner.text)?.[0]
  if (found) scanner.at += found.length
  return found
}

/** Skips white space and returns the next character code. */
function skipSpace(scanner: Scanner): number {
  for (;;) {
    const code = scanner.text.charCodeAt(scanner.at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code
    scanner.at += 1
  }
}

function expect(scanner: Scanner, code: number): void {
  if (skipSpace(scanner) !== code) throw malformed(scanner)
  scanner.at += 1
}

function malformed(scanner: Scanner): ApiError {
  const problem = scanner.at < scanner.text.length ? 'Unexpected character' : 'The text ends too early'
  const detail = `${problem} ${positionText(scanner)}.`
  return new ApiError('malformed_json', {
    message: `${API_ERRORS.malformed_json.message} ${detail}`,
    details: [{ field: 'body', code: 'malformed_json', message: detail }],
  })
}

function positionText(scanner: Scanner): string {
  const before = scanner.text.slice(0, scanner.at)
  return `at line ${before.split('\n').length}, column ${before.length - before.lastIndexOf('\n')}`
}

function dotted(path: Path): string {
  return path.join('.')
}

/** Whether a number literal differs from the shortest text of the double that it parses to. */
export function losesDigits(literal: string): boolean {
  // Fifteen significant digits always fit a double, and most amounts are shorter.
  if (literal.length <= 15 && !/[eE]/.test(literal)) return false
  return canonical(literal) !== canonical(String(Number(literal)))
}

/** Significant digits and a power of ten: equal for all spellings of the same number. */
function canonical(literal: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? []
  const digits = whole + fraction
  let start = 0
  let end = digits.length
  // A loop, because a pattern for trailing zeros takes quadratic time on a long run of inner zeros.
  while (start < end && digits[start] === '0') start += 1
  while (end > start && digits[end - 1] === '0') end -= 1
  // Infinity has no digits, but the literal that overflowed has some.
  if (start === end) return whole === '' ? 'overflow' : '0'
  return `${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
