// Draws the state diagram of payments as SVG from its text in the markdown, which is generated from the table of moves. Only
// the positions of the states are given here; the arrows follow from the moves.

import { escapeHtml } from '../kit/http/html.ts'

interface Box {
  x: number
  y: number
  width: number
  height: number
}

interface Group extends Box {
  title: string
  members: readonly string[]
}

interface Arrow {
  from: string
  to: string
  isTwoWay: boolean
}

const NODE_HEIGHT = 44
const node = (x: number, y: number, width = 150): Box => ({ x, y, width, height: NODE_HEIGHT })

const NODES: Readonly<Record<string, Box>> = {
  pending: node(80, 66),
  processing: node(80, 158),
  successful: node(325, 112),
  failed: node(80, 306, 110),
  abandoned: node(205, 306, 130),
  expired: node(350, 306, 110),
  partially_refunded: node(590, 20, 180),
  refunded: node(590, 112, 180),
  disputed: node(590, 204, 180),
  reversed: node(590, 306, 180),
}

/** A move that every state of a group has is drawn once, from or to the group. */
const GROUPS: readonly Group[] = [
  { title: 'open', members: ['pending', 'processing'], x: 62, y: 34, width: 186, height: 184 },
  {
    title: 'not paid',
    members: ['failed', 'abandoned', 'expired'],
    x: 62,
    y: 274,
    width: 416,
    height: 92,
  },
]

const [WIDTH, HEIGHT] = [830, 380]
const START = '[*]'

export function isStateDiagram(text: string): boolean {
  return text.startsWith('stateDiagram-v2\n') && statesIn(readMoves(text)).every((state) => state in NODES)
}

export function drawStateDiagram(text: string): string {
  const moves = readMoves(text)
  const starts = moves.filter(([from]) => from === START).map(([, to]) => to)
  const between = moves.filter(([from]) => from !== START)
  const parts = [
    ...GROUPS.map(drawGroup),
    ...arrowsOf(between).map(drawArrow),
    ...starts.map(drawStart),
    ...statesIn(moves).map(drawNode),
  ]
  return `<figure class="diagram"><div class="table" role="group" aria-label="Diagram" tabindex="0">
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="moves-title moves-text">
<title id="moves-title">The states of a payment and their moves</title>
<desc id="moves-text">${escapeHtml(describe(between))}</desc>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>
${parts.join('\n')}
</svg></div>
<figcaption>A dot is where a checkout or a charge starts. An arrow from or to a dashed box is a move of every status in it.</figcaption></figure>
`
}

type Move = readonly [from: string, to: string]

export function readMoves(text: string): Move[] {
  return [...text.matchAll(/^\s*(\S+) --> (\S+)$/gm)].map(([, from = '', to = '']) => [from, to])
}

function statesIn(moves: readonly Move[]): string[] {
  return [...new Set(moves.flat())].filter((state) => state !== START)
}

function describe(moves: readonly Move[]): string {
  return [...Map.groupBy(moves, ([from]) => from)]
    .map(([from, out]) => `${from} can move to ${out.map(([, to]) => to).join(', ')}.`)
    .join(' ')
}

/** The arrows of the picture: common moves of a group are one arrow, and so are two opposite moves. */
export function arrowsOf(moves: readonly Move[]): Arrow[] {
  const lifted = GROUPS.reduce((some, group) => liftSources(liftTargets(some, group), group), moves)
  const has = (from: string, to: string) => lifted.some((move) => move[0] === from && move[1] === to)
  return lifted
    .map(([from, to]) => ({ from, to, isTwoWay: has(to, from) }))
    .filter(({ from, to, isTwoWay }) => !isTwoWay || from < to)
}

function liftTargets(moves: readonly Move[], { title, members }: Group): Move[] {
  const whole = new Set(
    statesIn(moves)
      .filter((from) => !members.includes(from))
      .filter((from) => members.every((to) => moves.some((move) => move[0] === from && move[1] === to))),
  )
  const rest = moves.filter(([from, to]) => !(whole.has(from) && members.includes(to)))
  return [...rest, ...[...whole].map((from) => [from, title] as const)]
}

function liftSources(moves: readonly Move[], group: Group): Move[] {
  const turn = ([from, to]: Move): Move => [to, from]
  return liftTargets(moves.map(turn), group).map(turn)
}

function boxOf(name: string): Box {
  const box = NODES[name] ?? GROUPS.find(({ title }) => title === name)
  if (!box) throw new Error(`the diagram has no position for ${name}`)
  return box
}

function drawNode(state: string): string {
  const { x, y, width, height } = boxOf(state)
  const text = `<text x="${x + width / 2}" y="${y + height / 2}">${escapeHtml(state)}</text>`
  return `<g class="state"><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>${text}</g>`
}

function drawGroup({ title, x, y, width, height }: Group): string {
  const text = `<text x="${x + 12}" y="${y + 20}">${escapeHtml(title)}</text>`
  return `<g class="states"><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="12"/>${text}</g>`
}

const DOT_X = 26

function drawStart(state: string): string {
  const { x, y, height } = boxOf(state)
  const middle = y + height / 2
  return `<circle cx="${DOT_X}" cy="${middle}" r="6"/><path class="move" d="M${DOT_X + 6} ${middle}H${x - 2}" marker-end="url(#arrow)"/>`
}

function drawArrow({ from, to, isTwoWay }: Arrow): string {
  const start = isTwoWay ? ' marker-start="url(#arrow)"' : ''
  return `<path class="move" d="${pathBetween(boxOf(from), boxOf(to))}"${start} marker-end="url(#arrow)"/>`
}

const GAP = 2
const BULGE = 44
/** Keeps arrows away from the corners. */
const MAX_SHARE = 0.35

/** A curve between facing sides, a straight line between boxes above each other, or a curve around a box between them. */
function pathBetween(a: Box, b: Box): string {
  if (b.x >= a.x + a.width) return curve(a, b, 1)
  if (a.x >= b.x + b.width) return curve(a, b, -1)
  const [top, bottom] = a.y < b.y ? [a, b] : [b, a]
  const isBlocked = Object.values(NODES).some(
    ({ x, y }) => x === top.x && x === bottom.x && y > top.y && y < bottom.y,
  )
  if (isBlocked) return around(a, b)
  const left = Math.max(a.x, b.x)
  const x = (left + Math.min(a.x + a.width, b.x + b.width)) / 2
  return a.y < b.y
    ? `M${x} ${a.y + a.height + GAP}V${b.y - GAP}`
    : `M${x} ${a.y - GAP}V${b.y + b.height + GAP}`
}

function curve(a: Box, b: Box, direction: 1 | -1): string {
  const startX = direction > 0 ? a.x + a.width + GAP : a.x - GAP
  const endX = direction > 0 ? b.x - GAP : b.x + b.width + GAP
  const startY = facing(a, b)
  const endY = facing(b, a)
  const middle = (startX + endX) / 2
  return `M${startX} ${startY}C${middle} ${startY} ${middle} ${endY} ${endX} ${endY}`
}

/** Where an arrow meets the side of a box: the lower the other box, the lower, so that arrows do not meet in one point. */
function facing(box: Box, other: Box): number {
  const middle = box.y + box.height / 2
  const share = (other.y + other.height / 2 - middle) / HEIGHT
  return Math.round(middle + box.height * Math.min(Math.max(share, -MAX_SHARE), MAX_SHARE))
}

function around(a: Box, b: Box): string {
  const x = a.x + a.width + GAP
  const [startY, endY] = [a.y + a.height / 2, b.y + b.height / 2]
  return `M${x} ${startY}C${x + BULGE} ${startY} ${x + BULGE} ${endY} ${x} ${endY}`
}
