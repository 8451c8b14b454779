// The IP allow list of an API key: single addresses or CIDR blocks, IPv4 and IPv6.

import { BlockList, isIP } from 'node:net'

interface Block {
  address: string
  prefix: number
  family: 'ipv4' | 'ipv6'
}

export function isAddressBlock(text: string): boolean {
  return readBlock(text) !== undefined
}

/** Built once per cached key, because every request checks it. Undefined: any address is allowed. */
export function buildAddressList(blocks: readonly string[]): BlockList | undefined {
  if (blocks.length === 0) return undefined
  const list = new BlockList()
  for (const text of blocks) {
    const block = readBlock(text)
    // An unreadable entry is dropped. The list still exists, so it becomes narrower, never wider.
    if (block) list.addSubnet(block.address, block.prefix, block.family)
  }
  return list
}

export function allowsAddress(list: BlockList | undefined, ip: string): boolean {
  if (!list) return true
  const address = unmapIpv4(ip)
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Whether `blocks` allow every address of the block; an empty list allows any address. */
export function isWithinBlocks(text: string, blocks: readonly string[]): boolean {
  if (blocks.length === 0) return true
  const inner = readBlock(text)
  return inner !== undefined && blocks.some((outer) => isWithinBlock(inner, readBlock(outer)))
}

function isWithinBlock(inner: Block, outer: Block | undefined): boolean {
  if (outer === undefined || outer.family !== inner.family || outer.prefix > inner.prefix) return false
  const list = new BlockList()
  list.addSubnet(outer.address, outer.prefix, outer.family)
  return list.check(inner.address, inner.family)
}

function readBlock(text: string): Block | undefined {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  // A zone index, as in fe80::1%eth0, is valid on one machine only.
  if (version === 0 || address.includes('%') || rest.length > 0) return undefined
  const maxBits = version === 4 ? 32 : 128
  const bits = prefix === undefined ? maxBits : Number(prefix)
  if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || bits > maxBits)) return undefined
  return { address, prefix: bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** A server that listens on both families sees an IPv4 client as ::ffff:1.2.3.4. */
function unmapIpv4(ip: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1] ?? ip
}
