// The Markdown parser: what it builds, what it refuses, and that a growing text gets the blocks of the whole one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseInline, safeHref } from '../../assets/inline.js';
import { parseBlocks } from '../../assets/markdown.js';

/** A tree in short form: `tag(children)`, links with their address. */
const short = (node) => {
  if (typeof node === 'string') return JSON.stringify(node);
  const name = node.href ? `${node.tag}<${node.href}>` : node.tag;
  return `${name}(${node.children.map(short).join(' ')})`;
};
const inline = (text) => parseInline(text).map(short).join(' ');
const blocks = (text) => parseBlocks(text).map(short).join(' ');

function check(read, cases) {
  for (const [text, expected] of cases) assert.equal(read(text), expected, JSON.stringify(text));
}

test('inline markup', () => {
  check(inline, [
    ['plain', '"plain"'],
    ['*a* _b_ **c** ~~d~~', 'em("a") " " em("b") " " strong("c") " " del("d")'],
    ['***a***', 'em(strong("a"))'],
    ['**a *b* c**', 'strong("a " em("b") " c")'],
    ['snake_case_name 2*3*4', '"snake_case_name 2" em("3") "4"'],
    ['a * b * c', '"a * b * c"'],
    ['**open', '"**open"'],
    ['~a~', '"~a~"'],
    ['`*a*` ``b`c``', 'code("*a*") " " code("b`c")'],
    ['`open', '"`open"'],
    ['a\\*b\\* \\n', '"a*b* \\\\n"'],
    ['a  \nb\nc', '"a  " br() "b\\nc"'],
    ['&lt;b&gt; &bogus; &', '"<b> &bogus; &"'],
  ]);
});

test('links', () => {
  check(inline, [
    ['[a](https://x.example/)', 'a<https://x.example/>("a")'],
    ['[*a*](https://x.example/?q=(1) "t")', 'a<https://x.example/?q=(1)>(em("a"))'],
    ['<https://x.example/>', 'a<https://x.example/>("https://x.example/")'],
    ['See https://x.example/a.', '"See " a<https://x.example/a>("https://x.example/a") "."'],
    ['(https://x.example/a)', '"(" a<https://x.example/a>("https://x.example/a") ")"'],
    ['[m](mailto:a@x.example)', 'a<mailto:a@x.example>("m")'],
    ['[a [b](https://x.example/) c](https://y.example/)', '"[a " a<https://x.example/>("b") " c](" a<https://y.example/>("https://y.example/") ")"'],
    ['![alt](https://x.example/i.png)', 'image<https://x.example/i.png>("alt")'],
  ]);
});

test('hostile links are text', () => {
  const refused = ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\tscript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', 'blob:https://x/1', '//x.example', '/path', 'x', `https://x.example/${'a'.repeat(3000)}`];
  for (const address of refused) {
    assert.equal(safeHref(address), undefined, address);
    for (const text of [`[a](${address})`, `![a](${address})`, `<${address}>`]) {
      const tags = JSON.stringify(parseInline(text)).match(/"href":"(?!https:)/g);
      assert.equal(tags, null, text);
    }
  }
});

test('blocks', () => {
  check(blocks, [
    ['', ''],
    ['a\nb\n\nc', 'p("a\\nb") p("c")'],
    ['# a #\n###### b\n####### c', 'h1("a") h6("b") p("####### c")'],
    ['---\n***', 'hr() hr()'],
    ['```js\n<b>\n```\nafter', 'pre("<b>") p("after")'],
    ['~~~\n```\n', 'pre("```\\n")'],
    ['> a\nlazy\n> - b', 'blockquote(p("a\\nlazy") ul(li("b")))'],
    ['- a\n- b\n  - c\n\ntext', 'ul(li("a") li("b" ul(li("c")))) p("text")'],
    ['1. a\n2. b', 'ol(li("a") li("b"))'],
    ['- a\n\n- b', 'ul(li(p("a")) li(p("b")))'],
    ['- a\n\n  b', 'ul(li(p("a") p("b")))'],
    ['- a\n1. b', 'ul(li("a")) ol(li("b"))'],
    ['| a | b |\n|---|:-:|\n| 1 | `2\\|3` |', 'table(tr(th("a") th("b")) tr(td("1") td(code("2|3"))))'],
    ['a | b\nno table', 'p("a | b\\nno table")'],
    ['<script>alert(1)</script>', 'p("<script>alert(1)</script>")'],
  ]);
  assert.equal(parseBlocks('```python title\nx')[0].language, 'python');
  assert.equal(parseBlocks('7. x')[0].first, 7);
});

const DOCUMENT = '# Title\n\nA *b* paragraph\nwith [a link](https://x.example/).\n- one\n- two\n\n  more\n  1. x\n-1 degree\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\nlazy\n\n```js\nlet a = 1;\n\n- no list\n```\nend  \nof `it`\n2. no\n***\n';

test('a text that grows has the blocks of the whole text at each length', () => {
  let done = [];
  let from = 0;
  for (let length = 1; length <= DOCUMENT.length; length += 1) {
    const text = DOCUMENT.slice(0, length);
    const tail = parseBlocks(text.slice(from));
    assert.equal([...done, ...tail].map(short).join(' '), blocks(text), JSON.stringify(text));
    const open = tail.findIndex((block) => !block.isFinal);
    if (open > 0) {
      done = [...done, ...tail.slice(0, open)];
      from += tail[open].start;
    }
  }
});

test('hostile texts take linear time and bounded depth', () => {
  const depth = (node) => (typeof node === 'string' ? 0 : 1 + Math.max(0, ...node.children.map(depth)));
  const size = 60_000;
  const inputs = ['*a ', '*a _b ', '**a *b ', '[', '[a](', '[a](https://x.example/) [', '![', '`', '` `` ', '<', '<a:', '~~a ', '&', '\\', 'https://', 'https://x.example/?(', '> ', '- ', '  - a\n', '> - ', '| a ', '|a|\n|-|\n', '# ', '#', '- - ', '\n', ' \n- a\n\n', '```\n', '*_~`['];
  for (const piece of inputs) {
    for (const text of [piece.repeat(size / piece.length), `${piece.repeat(size / piece.length)}\n\nx`, `${'[*'.repeat(5_000)}${'a*](https://x.example/)'.repeat(1_000)}`]) {
      const begun = process.cpuUsage();
      const parsed = parseBlocks(text);
      const took = process.cpuUsage(begun).user / 1_000;
      assert.ok(took < 1_000, `${JSON.stringify(piece)} took ${took} ms of CPU`);
      assert.ok(Math.max(0, ...parsed.slice(0, 100).map(depth)) < 64, piece);
    }
  }
});
