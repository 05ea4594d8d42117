"""A small shop on SQLAlchemy's ORM over PyMySQL, as it comes: autocommit off, a pool that rolls back what is returned.

usage: sqlalchemy_shop.py HOST PORT USER PASSWORD DATABASE
"""

import sys
from decimal import Decimal

from sqlalchemy import URL, ForeignKey, Numeric, String, create_engine, event, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship, selectinload

from counted import Counter, expect, repeat

host, port, user, password, database = sys.argv[1:6]
reads = 0


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80), index=True)
    books: Mapped[list["Book"]] = relationship(back_populates="author")


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String(120))
    price: Mapped[Decimal] = mapped_column(Numeric(9, 2))
    stock: Mapped[int]
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books")
    reviews: Mapped[list["Review"]] = relationship(back_populates="book")


class Review(Base):
    __tablename__ = "review"
    id: Mapped[int] = mapped_column(primary_key=True)
    stars: Mapped[int]
    body: Mapped[str] = mapped_column(String(200))
    book_id: Mapped[int] = mapped_column(ForeignKey("book.id"))
    book: Mapped[Book] = relationship(back_populates="reviews")


def count_read(_connection, _cursor, statement, *_):
    global reads
    reads += statement.startswith("SELECT")


def stars(session, book_id):
    asked = select(func.count(), func.sum(Review.stars)).where(Review.book_id == book_id)
    return tuple(map(int, session.execute(asked).one()))


def book_page(engine, book_id):
    with Session(engine) as session:
        book = session.get(Book, book_id)
        return book.title, book.price, book.stock, book.author.name, stars(session, book_id)


def list_page(engine):
    with Session(engine) as session:
        asked = select(Book).where(Book.stock > 0).order_by(Book.title).limit(5)
        return [book.title for book in session.scalars(asked)]


def join_page(engine, name):
    with Session(engine) as session:
        asked = select(Book).join(Book.author).options(joinedload(Book.author)).where(Author.name == name)
        return [(book.title, book.author.name) for book in session.scalars(asked.order_by(Book.id))]


def author_page(engine, author_id):
    with Session(engine) as session, session.begin():
        author = session.get(Author, author_id, options=[selectinload(Author.books)])
        return author.name, [book.title for book in author.books]


def review_form(engine, book_id):
    """Sells one and takes a review, and shows both at once."""
    with Session(engine) as session:
        before = stars(session, book_id)
        book = session.get(Book, book_id, with_for_update=True)
        left = book.stock - 1
        book.stock = left
        session.add(Review(stars=3, body="naïve", book=book))
        session.flush()
        after = (before[0] + 1, before[1] + 3)
        expect("inside", stars(session, book_id), after)
        session.expire_all()
        expect("stock inside", session.get(Book, book_id).stock, left)
        session.commit()
        expect("stock after COMMIT", book.stock, left)
    expect("page", book_page(engine, book_id)[2:], (left, f"Author {book_id % 3}", after))


def visit(engine):
    global reads
    before = reads
    for number in range(1, 6):
        book_page(engine, number)
    list_page(engine)
    join_page(engine, "Author 1")
    author_page(engine, 2)
    return reads - before


def run(name, counter, **options):
    url = URL.create("mysql+pymysql", user, password, host, int(port), database)
    engine = create_engine(url, **options)
    event.listen(engine, "before_cursor_execute", count_read)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        if session.scalar(select(func.count()).select_from(Book)) == 0:
            session.add_all(Author(id=number, name=f"Author {number % 3}") for number in range(1, 4))
            session.flush()
            session.add_all(Book(id=number, title=f"Book {number:02}", price=Decimal("9.90"), stock=1000,
                                 author_id=number % 3 or 3) for number in range(1, 11))
            session.add_all(Review(stars=number % 5, body="x", book_id=number % 10 + 1) for number in range(40))
            session.commit()
    for number in range(1, 6):
        visit(engine)
        review_form(engine, number)
    repeat(name, counter, lambda: visit(engine))
    for _ in range(5):
        review_form(engine, 2)
    engine.dispose()


counter = Counter(host, int(port), user, password)
counter.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
run("autocommit", counter, isolation_level="AUTOCOMMIT")
run("pool", counter)
run("pre-ping", counter, pool_pre_ping=True)
run("read committed", counter, isolation_level="READ COMMITTED")
counter.run(f"DROP DATABASE {database}")
counter.connection.close()
print("done")
