import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { dataUriOf, imageOf, SVG } from '../../test/support/images.ts'
import { readLogo } from './logo.ts'

const NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
const svgWith = (inside: string) => dataUriOf(`<svg ${NAMESPACE}>${inside}</svg>`)

function accepted(dataUri: string) {
  const logo = readLogo(dataUri)
  if (typeof logo === 'string') assert.fail(logo)
  return logo
}

const issueOf = (dataUri: string): string => {
  const logo = readLogo(dataUri)
  return typeof logo === 'string' ? logo : assert.fail(`${dataUri} was accepted as ${logo.type}`)
}

describe('a logo', () => {
  it('is a PNG, WebP, JPEG or SVG with a digest of its bytes', () => {
    for (const type of ['image/png', 'image/webp', 'image/jpeg'] as const)
      assert.equal(accepted(imageOf(type)).type, type)
    const { type, bytes, digest } = accepted(dataUriOf(SVG))
    assert.equal(type, 'image/svg+xml')
    assert.equal(bytes.toString(), SVG)
    assert.equal(digest, createHash('sha256').update(SVG).digest('hex').slice(0, 16))
  })

  it('is rejected above 3072 bytes', () => {
    const png = Buffer.from(imageOf('image/png').split(',')[1] ?? '', 'base64')
    const padded = (length: number) =>
      dataUriOf(Buffer.concat([png, Buffer.alloc(length - png.length)]), 'image/png')
    assert.equal(accepted(padded(3072)).bytes.length, 3072)
    assert.match(issueOf(padded(3073)), /3073 bytes.*at most 3072/)
  })

  it('has the type of its bytes, not the type that its URI claims', () => {
    const jpeg = imageOf('image/jpeg')
    assert.match(
      issueOf(jpeg.replace('image/jpeg', 'image/png')),
      /holds image\/jpeg; begin it with data:image\/jpeg/,
    )
    assert.match(issueOf(dataUriOf('GIF89a\u0001', 'image/png')), /does not hold a PNG/)
    assert.match(issueOf(dataUriOf('<html></html>')), /does not hold a PNG/)
  })

  it('must be a data: URI in canonical base64', () => {
    const base64 = Buffer.from(SVG).toString('base64')
    for (const wrong of [
      '',
      'https://shop.example/logo.png',
      SVG,
      `data:image/svg+xml,${encodeURIComponent(SVG)}`,
      `data:image/svg+xml;charset=utf-8;base64,${base64}`,
      `data:text/html;base64,${base64}`,
      `data:image/svg+xml;base64,${base64}=`,
      `data:image/svg+xml;base64,${base64.slice(0, 20)}\n${base64.slice(20)}`,
      'data:image/png;base64,',
      'data:image/png;base64,====',
    ])
      assert.match(issueOf(wrong), /must be a data: URI in base64/, wrong)
  })

  it('may be an SVG as drawing programs export it', () => {
    for (const text of [
      `<?xml version="1.0" encoding="UTF-8"?>\n<!-- Generator: a > program --><svg ${NAMESPACE}/>`,
      `\ufeff<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'></svg>`,
      `\n  <svg ${NAMESPACE} xmlns:xlink="http://www.w3.org/1999/xlink"><use xlink:href = "#a"/></svg>`,
      `<svg ${NAMESPACE}><style>.a{fill:url( "#g" )}</style><rect fill="url(#g)" class="a"/></svg>`,
      `<svg ${NAMESPACE}><text>Duka la Vitabu · የመጻሕፍት ቤት</text></svg>`,
    ])
      assert.equal(accepted(dataUriOf(text)).type, 'image/svg+xml')
  })

  it('is rejected as an SVG that could run a script or fetch a resource', () => {
    const wrong: [string, RegExp][] = [
      ['<script>alert(1)</script>', /script; remove/],
      ['<SCRIPT/>', /script; remove/],
      ['<use href="#a"/>'.repeat(9), /too often/],
      ['<svg:script href="#a"/>', /script; remove/],
      ['<foreignObject><p/></foreignObject>', /foreignObject/],
      ['<x:foreignobject/>', /foreignObject/],
      ['<iframe src="https://evil.example"/>', /embedded/],
      ['<g onload="alert(1)"/>', /event handler/],
      ["<g fill='red'onclick='x'/>", /event handler/],
      ['<g\nONMOUSEOVER = "x"/>', /event handler/],
      ['<a href="https://evil.example"/>', /outside itself/],
      ['<a href="javascript:alert(1)"/>', /outside itself/],
      ['<a href="&#106;avascript:alert(1)"/>', /outside itself/],
      ['<image xlink:href=" //evil.example/a.png"/>', /outside itself/],
      ['<use href="data:image/svg+xml;base64,AAAA"/>', /outside itself/],
      ['<a><animate attributeName="href" values="javascript:alert(1)"/></a>', /animation/],
      ['<set attributeName="href" to="x"/>', /animation/],
      ['<style>@import "https://evil.example/a.css";</style>', /outside itself/],
      ['<rect style="fill:url(https://evil.example/#a)"/>', /outside itself/],
      ['<g xml:base="https://evil.example/"><use href="#a"/></g>', /xml:base/],
      ['<?xml-stylesheet href="#a"?>', /stylesheet/],
    ]
    for (const [inside, message] of wrong) assert.match(issueOf(svgWith(inside)), message, inside)
  })

  it('is rejected as an SVG with a document type, another encoding or another root element', () => {
    const doctype = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x "y">]><svg ${NAMESPACE}>&x;</svg>`
    assert.match(issueOf(dataUriOf(doctype)), /DOCTYPE/)
    assert.match(issueOf(dataUriOf(`<?xml version="1.0"?><html><svg ${NAMESPACE}/></html>`)), /no SVG/)
    assert.match(issueOf(dataUriOf(Buffer.from([...Buffer.from(SVG), 0xff, 0xfe]))), /UTF-8/)
    assert.match(issueOf(dataUriOf(Buffer.from(SVG, 'utf16le'))), /does not hold/)
    assert.match(issueOf(dataUriOf('<svg></svg>')), /no xmlns/)
  })
})
